"""The data of the page on which a thread is corrected, computed from the documents without I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shared.documents.edits import Correction
from shared.documents.readings import StoredReading
from shared.documents.threads import Message, Thread
from shared.documents.values import CorrectionKind, Genre, OutcomeKind, PositionStance, SentenceCitation

STANCES = [*(stance.value for stance in PositionStance), "none"]
MOST_SENTENCES = 60


@dataclass(frozen=True)
class CorrectableSentence:
    """An evidence sentence with its sender and the sender's position."""

    message_id: str
    quote: str
    name: str
    uses: tuple[str, ...]
    stance: str
    etag: str  # of the correction of this person's position, where there is one


@dataclass(frozen=True)
class CorrectionView:
    thread: Thread
    reading: StoredReading
    sentences: list[CorrectableSentence]
    corrections: list[Correction]
    etags: Mapping[str, str]  # of the corrections of the outcome and the genre
    genres: Sequence[str] = tuple(genre.value for genre in Genre)
    outcomes: Sequence[str] = tuple(kind.value for kind in OutcomeKind)
    stances: Sequence[str] = tuple(STANCES)


def correction_view(
    thread: Thread, reading: StoredReading, messages: Sequence[Message], corrections: Sequence[Correction]
) -> CorrectionView:
    active = [correction for correction in corrections if not correction.revoked]
    of_person = {
        correction.message_id: correction.etag or ""
        for correction in active
        if correction.kind is CorrectionKind.POSITION
    }
    whole = {CorrectionKind.OUTCOME, CorrectionKind.GENRE}
    etags = {
        correction.kind.value: correction.etag or "" for correction in active if correction.kind in whole
    }
    return CorrectionView(
        thread, reading, list(_sentences(reading, messages, of_person)), list(corrections), etags
    )


def _sentences(
    reading: StoredReading, messages: Sequence[Message], etags: Mapping[str, str]
) -> Iterable[CorrectableSentence]:
    senders = {message.message_id: message.from_ for message in messages}
    stances = {one.citation.message_id: one.stance.value for one in reading.positions}
    uses: dict[tuple[str, str], list[str]] = {}
    for use, cited in _uses(reading):
        uses.setdefault((cited.message_id, cited.quote), []).append(use)
    for message_id, quote in list(uses)[:MOST_SENTENCES]:
        sender = senders.get(message_id)
        if sender is not None:
            yield CorrectableSentence(
                message_id,
                quote,
                sender.name or sender.email,
                tuple(dict.fromkeys(uses[message_id, quote])),
                stances.get(message_id, "none"),
                etags.get(message_id, ""),
            )


def _uses(reading: StoredReading) -> Iterable[tuple[str, SentenceCitation]]:
    yield from ((f"position: {one.stance}", one.citation) for one in reading.positions)
    yield from (("decision", one.citation) for one in reading.decisions)
    yield from (("objection", one.citation) for one in reading.objections)
    yield from (("open issue", one) for one in reading.open_issues)
    yield from (("key point", one) for one in reading.key_points)
