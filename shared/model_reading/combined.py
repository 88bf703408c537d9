"""Combines the readings of a thread by the rules and by a checked model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from shared.model_reading.answer import ClaimedQuote, ModelAnswer
from shared.model_reading.checked import CheckedAnswer
from shared.model_reading.ends import ruling
from shared.model_reading.evidence import locate
from shared.model_reading.narrated import judge
from shared.model_reading.numbered import mail_header
from shared.model_reading.orders import orders_in
from shared.models.values import (
    Authority,
    ConsensusBasis,
    Fate,
    Headline,
    ModelReading,
    NarratedSentence,
    Objection,
    OutcomeKind,
    Position,
    PositionStance,
    Proposition,
    PropositionForm,
    ReadBy,
    ReadDifference,
    ReadGenre,
    SentenceCitation,
    ThreadOutcome,
    ThreadReading,
    Tier,
    clipped,
)
from shared.reading.headlines import KINDS, MAX_WORDS, subject_words
from shared.reading.linked_thread import LinkedThread
from shared.reading.positions import consensus_type

_MAX_POINTS = 8
_ENOUGH_VOICES = 2
_CONFIDENCE = 0.9
_AGREED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED})


@dataclass(frozen=True, slots=True)
class ModelRun:
    """Which model answered, when, and what it was not given."""

    model: str
    read_at: datetime
    cut: tuple[int, ...] = ()
    """The numbers of the mails whose middle was left out."""
    unread: int = 0


def combine(
    thread: LinkedThread, subject: str, rules: ThreadReading, answer: ModelAnswer, run: ModelRun
) -> ThreadReading:
    """Combine both readings. The rules' reading wins where it is sure."""
    return _Combining(thread, subject, rules, answer, run).reading()


class _Combining:
    def __init__(
        self, thread: LinkedThread, subject: str, rules: ThreadReading, answer: ModelAnswer, run: ModelRun
    ) -> None:
        self._thread, self._subject, self._rules = thread, subject, rules
        self._answer, self._run = answer, run
        self._orders = orders_in(thread)
        self._checked = CheckedAnswer(thread, answer, rules, strict=bool(self._orders))

    def reading(self) -> ThreadReading:
        checked, answer = self._checked, self._answer
        positions = checked.positions
        objections = self._objections()
        outcome = self._outcome()
        decisions = checked.decisions()
        open_issues = checked.citations(answer.open_issues, "open issue")
        narrative = self._narrative()
        has_consensus = self._has_consensus(outcome, positions, objections)
        stances = [position.stance for position in positions if position.tier is Tier.SAID]
        return replace(
            self._rules,
            genre=self._genre(),
            proposition=self._proposition(),
            outcome=outcome,
            positions=tuple(positions),
            objections=tuple(objections),
            decisions=tuple(decisions),
            open_issues=tuple(open_issues),
            key_points=tuple(self._key_points(objections)),
            headline=self._headline(outcome, objections, open_issues),
            has_consensus=has_consensus,
            consensus_type=consensus_type(stances, has_consensus=has_consensus),
            basis=outcome.basis,
            model=ModelReading(
                self._run.model,
                self._run.read_at,
                narrative,
                tuple(checked.differences),
                tuple(checked.refused),
                marked=tuple(checked.marked),
                cut=tuple(self._thread.mails[number - 1].mail.message_id for number in self._run.cut),
                unread=self._run.unread,
                orders=tuple(self._thread.mails[number].mail.message_id for number in self._orders),
            ),
        )

    def _genre(self) -> ReadGenre:
        ours, theirs = self._rules.genre, self._answer.genre
        if theirs is None or (ours.tier is Tier.SAID and ours.kind is theirs):
            return ours
        if ours.tier is Tier.SAID:
            self._differ("genre", ours.kind.value, theirs.value)
            return ours
        return ReadGenre(theirs, _CONFIDENCE, Tier.SAID, ReadBy.MODEL)

    def _differ(self, claim: str, ours: str, theirs: str) -> None:
        self._checked.differences.append(ReadDifference(claim, ours, theirs))

    def _proposition(self) -> Proposition | None:
        """Return the rules' proposition, or the sentence that the model names if the rules have none."""
        found = self._checked.proposition()
        ours = self._rules.proposition
        if ours is not None:
            same = found is not None and found.mail.mail.message_id == ours.message_id
            return replace(ours, words=found.citation()) if same and found is not None else ours
        if found is None:
            return None
        mail = found.mail.mail
        return Proposition(mail.message_id, PropositionForm.TEXT, mail.address.lower(), found.citation())

    def _outcome(self) -> ThreadOutcome:
        ours, kind = self._rules.outcome, self._answer.outcome
        if kind is None:
            return ours
        if ours.tier is Tier.SAID:
            if ours.kind is not kind:
                self._differ("outcome", ours.kind.value, kind.value)
            return ours
        evidence = self._checked.outcome_evidence()
        if not evidence:
            return ours
        ruled = ruling(self._thread, kind, evidence)
        authority = ruled.authority if ruled else None
        if authority is None:
            self._checked.marked.append(f"outcome: nobody with a role rules that it is {kind.value}")
        return ThreadOutcome(
            kind=kind,
            tier=Tier.SAID,
            confidence=_CONFIDENCE,
            sentence=self._outcome_sentence(kind, authority),
            basis=ConsensusBasis.RULED if authority else ConsensusBasis.UNKNOWN,
            evidence=tuple(quote.citation() for quote in evidence),
            authority=authority,
            votes=ours.votes,
            rule="model",
            read_by=ReadBy.MODEL,
            by=f"{authority.name} ({authority.role})" if authority else "",
        )

    def _outcome_sentence(self, kind: OutcomeKind, authority: Authority | None) -> str:
        """Return the model's sentence if its quotes support it, else a plain one, with the model's name."""
        claimed = self._answer.outcome_sentence
        verdict = judge(self._thread, claimed, self._subject) if claimed else None
        label = f" (as {self._run.model} reads it)"
        limit = MAX_WORDS - len(label.split())
        if claimed and verdict and verdict.is_shown:
            # The quotes show who decides and that they do, so no label is needed.
            is_plain = authority is not None and not verdict.marked
            return clipped(claimed.text, MAX_WORDS) if is_plain else clipped(claimed.text, limit) + label
        if claimed and verdict and claimed.text:
            self._checked.refused.append(f"outcome's sentence: {verdict.refused}")
        by = f", by {authority.name} ({authority.role})" if authority else ""
        return clipped(f"{KINDS[kind]}: {subject_words(self._subject)}{by}", limit) + label

    def _objections(self) -> list[Objection]:
        """Return the model's objections and those of people whose opposition is sure by the rules."""
        found = self._checked.objections
        known = {objection.citation.place for objection in found}
        objecting_ids = {
            position.citation.message_id
            for position in self._rules.positions
            if position.tier is Tier.SAID and position.stance is PositionStance.OPPOSE
        }
        omitted = [
            objection
            for objection in self._rules.objections
            if objection.citation.message_id in objecting_ids and objection.citation.place not in known
        ]
        return [*found, *omitted]

    def _key_points(self, objections: Sequence[Objection]) -> list[SentenceCitation]:
        """Return the model's key points and every objection of the rules that the model left out."""
        found = self._checked.citations(self._answer.key_points, "key point")[:_MAX_POINTS]
        known = {objection.citation.place for objection in objections}
        omitted = [
            objection.citation
            for objection in self._rules.objections
            if objection.citation.place not in known
        ]
        points = [*(found or self._rules.key_points), *omitted]
        return list({(point.message_id, point.start): point for point in points}.values())

    def _narrative(self) -> tuple[NarratedSentence, ...]:
        narrated = []
        for number, sentence in enumerate(self._answer.narrative, 1):
            verdict = judge(self._thread, sentence, self._subject)
            if verdict.missing and verdict.is_shown:
                self._checked.refused.append(
                    f"sentence {number}: {verdict.missing} quotes are not in the thread"
                )
            if not verdict.is_shown:
                self._checked.refused.append(f"sentence {number}: {verdict.refused}")
                continue
            if verdict.marked:
                self._checked.marked.append(f"sentence {number}: {verdict.marked}")
                if self._checked.strict:
                    continue
            citations = {
                (quote.mail.number, quote.sentences[0].start): quote.citation() for quote in verdict.evidence
            }
            narrated.append(NarratedSentence(sentence.text, tuple(citations.values()), not verdict.marked))
        return tuple(narrated)

    def _headline(
        self, outcome: ThreadOutcome, objections: Iterable[Objection], open_issues: Sequence[SentenceCitation]
    ) -> Headline:
        ours = self._rules.headline
        proposition = self._proposition()
        asked = (
            clipped(proposition.words.quote, MAX_WORDS) if proposition and proposition.words else ours.asked
        )
        outstanding = [objection.citation for objection in objections if objection.fate is Fate.OUTSTANDING]
        rest = [*outstanding, *open_issues]
        left = clipped(rest[0].quote, MAX_WORDS) if rest else ours.left
        return Headline(asked=asked, came_out=outcome.sentence, left=left)

    def _has_consensus(
        self, outcome: ThreadOutcome, positions: Sequence[Position], objections: Sequence[Objection]
    ) -> bool:
        """Return the rules' consensus, or the model's if the checked claims support it."""
        if self._rules.has_consensus:
            return True
        if not self._answer.has_consensus or self._checked.strict:
            return False
        cause = self._against_consensus(outcome, positions, objections)
        if cause:
            self._checked.refused.append(f"consensus: {cause}")
        return not cause

    def _against_consensus(
        self, outcome: ThreadOutcome, positions: Sequence[Position], objections: Sequence[Objection]
    ) -> str:
        if outcome.kind is OutcomeKind.CONTESTED:
            return "the thread ends contested"
        against = any(position.stance is PositionStance.OPPOSE for position in positions)
        is_outstanding = any(objection.fate is Fate.OUTSTANDING for objection in objections)
        if (
            against or is_outstanding or self._checked.seen_objections
        ) and outcome.basis is not ConsensusBasis.RULED:
            return "an objection is in the thread"
        voices = sum(position.stance is PositionStance.SUPPORT for position in positions)
        agreed = outcome.kind in _AGREED and outcome.tier is Tier.SAID
        if agreed or voices >= _ENOUGH_VOICES or outcome.kind is OutcomeKind.REJECTED:
            return ""
        return "there is neither an agreed outcome nor two voices"


def found_sentences(thread: LinkedThread, parts: Sequence[ModelAnswer]) -> list[dict[str, Any]]:
    """Return the quoted sentences of each mail, in order, for the merging call."""
    by_mail: dict[int, dict[int, str]] = {}
    for quote in (quote for part in parts for quote in _quotes(part)):
        located = locate(thread, quote)
        if located is not None:
            for sentence in located.sentences:
                by_mail.setdefault(located.mail.number, {})[sentence.start] = sentence.text
    return [
        mail_header(thread, thread.mails[number])
        | {"body": [" ".join(text for _, text in sorted(by_mail[number].items()))]}
        for number in sorted(by_mail)
    ]


def _quotes(part: ModelAnswer) -> Iterator[ClaimedQuote]:
    yield from part.propositions
    yield from (position.words for position in part.positions)
    yield from (objection.words for objection in part.objections)
    yield from (*part.decisions, *part.open_issues, *part.key_points)
    if part.outcome_sentence is not None:
        yield from part.outcome_sentence.evidence


def merge_answers(parts: Sequence[ModelAnswer], whole: ModelAnswer) -> ModelAnswer:
    """Combine the answers to the parts of a thread with the answer of the merging call."""
    first = parts[0]
    return replace(
        whole,
        genre=whole.genre or first.genre,
        propositions=whole.propositions or first.propositions,
        positions=tuple(
            sorted(
                (position for part in parts for position in part.positions),
                key=lambda position: position.words.mail,
            )
        ),
        objections=tuple(objection for part in parts for objection in part.objections),
        decisions=_each_once(part.decisions for part in parts),
        open_issues=whole.open_issues or _each_once(part.open_issues for part in parts),
        key_points=whole.key_points or _each_once(part.key_points for part in parts),
    )


def _each_once(parts: Iterable[tuple[ClaimedQuote, ...]]) -> tuple[ClaimedQuote, ...]:
    return tuple(dict.fromkeys(quote for part in parts for quote in part))
