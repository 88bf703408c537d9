"""The document of a summary: text, claims, positions and counts, and the citations that support them."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.containers import read_document
from shared.models.edits import Correction, SentencePlace
from shared.models.queries.threads import CORRECTIONS_OF_MESSAGES
from shared.models.readings import CorrectedBy, ShownCorrection, StoredReading
from shared.models.reports import Summary, SummaryClaim, SummaryMetadata, SummaryStance
from shared.models.threads import Thread
from shared.models.values import CorrectionKind, PositionStance, SentenceCitation, ThreadReading, Tier
from shared.reading.corrections import ReadingCorrection, corrected_reading, is_hidden
from shared.summaries.extractive import ExtractiveSummarizer
from shared.summaries.markdown import render_html, render_markdown
from shared.summaries.models import Claim, ContextMessage, Section, ThreadContext, ThreadSummary


def summary_fields(made: ThreadSummary, thread: Thread, messages: Sequence[ContextMessage]) -> dict[str, Any]:
    markdown, stances = render_markdown(made), stored_stances(made.reading, messages)
    return {
        "title": made.title,
        "content_markdown": markdown,
        "content_html": render_html(markdown),
        "citations": made.citations,
        "claims": stored_claims(made),
        "stances": stances,
        "counts": dict(Counter(stance.stance for stance in stances)),
        "reading": StoredReading.of(made.reading),
        "generated_by": made.generated_by,
        "metadata": _metadata(thread, made),
    }


def thread_summary(stored: Summary) -> ThreadSummary:
    """Return the stored summary as a ThreadSummary, without rejected claims."""
    if stored.reading is None:
        raise ValueError("a summary of several threads has no reading")
    claims = tuple(
        Claim(
            text=claim.text,
            section=Section(claim.section),
            citations=tuple(stored.citations[index] for index in claim.citations),
            speaker=claim.speaker,
        )
        for claim in stored.claims
    )
    notes = tuple(stored.metadata.notes)
    return ThreadSummary(stored.title, claims, stored.generated_by, stored.reading.reading(), notes=notes)


def stored_claims(made: ThreadSummary) -> list[SummaryClaim]:
    """Return the supported claims, each with the positions of its citations."""
    indexes = {(citation.chunk_id, citation.quote): index for index, citation in enumerate(made.citations)}
    return [
        SummaryClaim(
            text=claim.text,
            section=claim.section.value,
            speaker=claim.speaker,
            citations=[*dict.fromkeys(indexes[cited.chunk_id, cited.quote] for cited in claim.citations)],
        )
        for claim in made.claims
        if claim.is_supported
    ]


_STANCES = {PositionStance.SUPPORT: "support", PositionStance.OPPOSE: "objection"}


def stored_stances(reading: ThreadReading, messages: Sequence[ContextMessage]) -> list[SummaryStance]:
    """Return the stated positions. Every other statement is a remark without a stance."""
    by_id = {message.message_id: message for message in messages}
    return [
        SummaryStance(
            message_key=by_id[citation.message_id].key,
            name=position.name,
            email=position.person,
            stance=_STANCES[position.stance],
            quote=by_id[citation.message_id].text[citation.start : citation.end],
            start=citation.start,
            end=citation.end,
            counts_now=True,
        )
        for position in reading.positions
        if position.tier is Tier.SAID and position.stance in _STANCES
        for citation in [position.citation]
        if citation.message_id in by_id  # The result of a vote may be in another thread.
    ]


def _metadata(thread: Thread, made: ThreadSummary) -> SummaryMetadata:
    reading = made.reading
    return SummaryMetadata(
        source=thread.source,
        participants=thread.participants,
        first_message_date=thread.first_message_date,
        last_message_date=thread.last_message_date,
        draft_mentions=thread.draft_mentions,
        has_consensus=reading.has_consensus,
        consensus_type=reading.consensus_type,
        basis=reading.basis,
        reason=reading.outcome.sentence,
        notes=list(made.notes),
        rejected_claims=len(made.rejected),
        tokens_prompt=made.tokens.prompt,
        tokens_completion=made.tokens.completion,
    )


async def find_corrections(
    clients: Clients, message_ids: Iterable[str], session: Session
) -> list[Correction]:
    """Return the corrections of these messages, including revoked ones, the latest last."""
    rows = await clients.store.query_by_ids(CORRECTIONS_OF_MESSAGES, [*message_ids], session)
    found = [read_document(Correction, row) for row in rows]
    return sorted(found, key=lambda correction: (correction.last.at, correction.id))


async def load_corrections(
    clients: Clients, thread: Thread, context: ThreadContext, session: Session
) -> "ThreadCorrections":
    if thread.corrections:  # A replica may lack the latest correction.
        await clients.store.refresh(Correction, session)
    ids = [message.message_id for message in context.messages]
    known = await find_corrections(clients, ids, session)
    active = [item for item in known if not item.revoked and item.kind is not CorrectionKind.REPORTED]
    # In merged threads, the correction of the root applies to all.
    active.sort(key=lambda correction: correction.message_id == thread.root_message_id)
    messages = {message.message_id: message for message in context.messages}
    found = [_reading_correction(correction, messages[correction.message_id]) for correction in active]
    senders = {id_: message.sender_email.lower() for id_, message in messages.items()}
    applied = [correction for correction in found if correction is not None]
    return ThreadCorrections(context.subject, active, applied, senders)


@dataclass(frozen=True)
class ThreadCorrections:
    subject: str
    documents: Sequence[Correction]
    applied: Sequence[ReadingCorrection]
    senders: Mapping[str, str]  # Addresses by Message-ID.

    def of_context(self, context: ThreadContext) -> ThreadContext:
        return replace(
            context, reading=corrected_reading(context.reading, self.applied, subject=self.subject)
        )

    def of_summary(self, made: ThreadSummary, context: ThreadContext) -> ThreadSummary:
        """Apply the corrections to the reading and its claims, and note their authors."""
        if not self.applied:
            return made
        reading = corrected_reading(made.reading, self.applied, subject=self.subject)
        hidden = [
            correction.citation
            for correction in self.applied
            if correction.kind is CorrectionKind.HIDDEN and correction.citation
        ]
        # All claims, including a model's narrative, follow from the corrected reading.
        claims = ExtractiveSummarizer().summary(replace(context, reading=reading)).claims
        visible = tuple(
            claim
            for claim in claims
            if not any(is_hidden(cited.message_id, cited.quote, hidden) for cited in claim.citations)
        )
        notes = dict.fromkeys(
            f"Corrected by {document.last.by} on {document.last.at:%Y-%m-%d}: {document.kind}."
            for document in self.documents
        )
        return replace(made, reading=reading, claims=visible, notes=(*made.notes, *notes))

    def marked(self, reading: StoredReading) -> StoredReading:
        if not self.documents:
            return reading
        outcome = reading.outcome
        for document in self.documents:
            if document.kind is CorrectionKind.OUTCOME:
                corrected = CorrectedBy(by=document.last.by, at=document.last.at)
                outcome = outcome.model_copy(update={"corrected": corrected})
        corrections = [
            ShownCorrection(
                correction_id=document.id,
                kind=document.kind,
                message_id=document.message_id,
                person=self.senders[document.message_id] if document.kind is CorrectionKind.POSITION else "",
                by=document.last.by,
                at=document.last.at,
                reason=document.last.reason,
            )
            for document in self.documents
        ]
        return reading.model_copy(update={"outcome": outcome, "corrections": corrections})


def _reading_correction(correction: Correction, message: ContextMessage) -> ReadingCorrection | None:
    """Return the correction for the reader, or None if it hides a sentence that the mail no longer has."""
    citation, place = None, correction.place
    if place is not None:
        quote = " ".join(message.text[place.start : place.end].split())
        if sentence_digest(quote) == place.digest:
            citation = SentenceCitation(message.message_id, place.start, place.end, quote)
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


def sentence_digest(quote: str) -> str:
    """Return a hash of the words that ignores white space."""
    return hashlib.sha256(" ".join(quote.split()).encode()).hexdigest()[:32]


def sentence_place(quote: str, text: str) -> SentencePlace | None:
    """Return the place of the quote in the text, ignoring white space, or None if it is missing."""
    words = quote.split()
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    if found is None:
        return None
    return SentencePlace(start=found.start(), end=found.end(), digest=sentence_digest(quote))
