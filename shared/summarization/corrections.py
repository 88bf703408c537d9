"""Corrections of a thread out of the store, laid over what was read of it."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.containers import read_document
from shared.documents.edits import Correction, SentencePlace
from shared.documents.queries.threads import CORRECTIONS_OF_MESSAGES
from shared.documents.readings import CorrectedBy, ShownCorrection, StoredReading
from shared.documents.threads import Thread
from shared.documents.values import CorrectionKind, SentenceCitation
from shared.domain.consensus.corrections import ReadingCorrection, corrected_reading, is_hidden
from shared.domain.summaries.extractive import ExtractiveSummarizer
from shared.domain.summaries.models import Claim, ContextMessage, ThreadContext, ThreadSummary


async def corrections_of(clients: Clients, message_ids: Iterable[str], session: Session) -> list[Correction]:
    """Those about these messages, revoked ones too; the latest last."""
    rows = await clients.store.query_by_ids(CORRECTIONS_OF_MESSAGES, [*message_ids], session)
    found = [read_document(Correction, row) for row in rows]
    return sorted(found, key=lambda correction: (correction.last.at, correction.id))


async def load_corrections(
    clients: Clients, thread: Thread, context: ThreadContext, session: Session
) -> "ThreadCorrections":
    if thread.corrections:  # one that a replica does not show yet would be missing for good
        await clients.store.catch_up(Correction, [message.key for message in context.messages], session)
    ids = [message.message_id for message in context.messages]
    active = [found for found in await corrections_of(clients, ids, session) if not found.revoked]
    # Where threads were merged, what was said of the whole holds by the root's own correction.
    active.sort(key=lambda correction: correction.message_id == thread.root_message_id)
    messages = {message.message_id: message for message in context.messages}
    laid = [_in_reading(correction, messages[correction.message_id]) for correction in active]
    senders = {id_: message.sender_email.lower() for id_, message in messages.items()}
    return ThreadCorrections(context.subject, active, [one for one in laid if one is not None], senders)


@dataclass(frozen=True)
class ThreadCorrections:
    subject: str
    documents: Sequence[Correction]
    laid: Sequence[ReadingCorrection]
    senders: Mapping[str, str]  # addresses by Message-ID

    def of_context(self, context: ThreadContext) -> ThreadContext:
        """What a summarizer reads: it is to know what people have corrected."""
        return replace(context, reading=corrected_reading(context.reading, self.laid, subject=self.subject))

    def of_summary(self, made: ThreadSummary, context: ThreadContext) -> ThreadSummary:
        """What it made, whatever it read."""
        if not self.laid:
            return made
        reading = corrected_reading(made.reading, self.laid, subject=self.subject)
        hidden = [one.citation for one in self.laid if one.kind is CorrectionKind.HIDDEN and one.citation]
        # A summary's claims follow from the reading, a model's narrative included.
        claims = ExtractiveSummarizer().summary(replace(context, reading=reading)).claims
        shown = tuple(claim for claim in claims if not _rests_on(claim, hidden))
        return replace(made, reading=reading, claims=shown, notes=(*made.notes, *self._notes()))

    def _notes(self) -> list[str]:
        """So that whoever reads only the text sees it."""
        said = (
            f"Corrected by {one.last.by} on {one.last.at:%Y-%m-%d}: {one.kind}." for one in self.documents
        )
        return list(dict.fromkeys(said))

    def marked(self, reading: StoredReading) -> StoredReading:
        """The stored reading, with who corrected what."""
        if not self.documents:
            return reading
        outcomes = [one for one in self.documents if one.kind is CorrectionKind.OUTCOME]
        outcome = reading.outcome
        if outcomes:
            last = outcomes[-1].last
            outcome = outcome.model_copy(update={"corrected": CorrectedBy(by=last.by, at=last.at)})
        shown = [_shown(one, self.senders[one.message_id]) for one in self.documents]
        return reading.model_copy(update={"outcome": outcome, "corrections": shown})


def _shown(correction: Correction, sender: str) -> ShownCorrection:
    last, is_position = correction.last, correction.kind is CorrectionKind.POSITION
    return ShownCorrection(
        correction_id=correction.id,
        kind=correction.kind,
        message_id=correction.message_id,
        person=sender if is_position else "",
        by=last.by,
        at=last.at,
        reason=last.reason,
    )


def _rests_on(claim: Claim, hidden: Sequence[SentenceCitation]) -> bool:
    return any(is_hidden(citation.message_id, citation.quote, hidden) for citation in claim.citations)


def _in_reading(correction: Correction, message: ContextMessage) -> ReadingCorrection | None:
    """None where the sentence that it hides is not in the mail any more."""
    citation = _citation(correction.place, message)
    if correction.kind is CorrectionKind.HIDDEN and citation is None:
        return None
    value = correction.value
    return ReadingCorrection(
        kind=correction.kind,
        message_id=correction.message_id,
        person=message.sender_email.lower(),
        name=message.sender_name,
        stance=value.stance,
        outcome=value.outcome,
        sentence=value.sentence,
        genre=value.genre,
        citation=citation,
    )


def _citation(place: SentencePlace | None, message: ContextMessage) -> SentenceCitation | None:
    if place is None:
        return None
    quote = " ".join(message.text[place.start : place.end].split())
    if sentence_digest(quote) != place.digest:
        return None
    return SentenceCitation(message.message_id, place.start, place.end, quote)


def sentence_digest(quote: str) -> str:
    """Of the words, whatever the white space between them."""
    return hashlib.sha256(" ".join(quote.split()).encode()).hexdigest()[:32]


def sentence_place(quote: str, text: str) -> SentencePlace | None:
    """Where the quote stands in the text, apart from white space; None where it does not."""
    words = quote.split()
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    if found is None:
        return None
    return SentencePlace(start=found.start(), end=found.end(), digest=sentence_digest(quote))
