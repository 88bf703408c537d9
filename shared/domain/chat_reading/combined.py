"""One reading of a thread from two readers: the rules, which say little, and a model that was checked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from shared.documents.values import (
    Authority,
    ConsensusBasis,
    Decision,
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
from shared.domain.chat_reading.answer import ClaimedQuote, ClaimedSentence, ModelAnswer
from shared.domain.chat_reading.checked import CheckedAnswer
from shared.domain.chat_reading.evidence import LocatedQuote, locate, supported
from shared.domain.chat_reading.numbered import mail_header
from shared.domain.consensus.headlines import KINDS, MAX_WORDS, subject_words
from shared.domain.consensus.linked_thread import LinkedThread, display_name
from shared.domain.consensus.positions import consensus_type

_MAX_POINTS = 8
_ENOUGH_VOICES = 2
_CONFIDENCE = 0.9
_AGREED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED})
_DECIDED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED, OutcomeKind.REJECTED})


@dataclass(frozen=True, slots=True)
class ModelRun:
    """Which model answered, when, and what it was not given."""

    model: str
    read_at: datetime
    kept_out: int = 0
    unread: int = 0


def combine(
    thread: LinkedThread, subject: str, rules: ThreadReading, answer: ModelAnswer, run: ModelRun
) -> ThreadReading:
    """What both readers say, as far as it holds. The rules' reading stands where they are sure."""
    return _Combining(thread, subject, rules, answer, run).reading()


class _Combining:
    def __init__(
        self, thread: LinkedThread, subject: str, rules: ThreadReading, answer: ModelAnswer, run: ModelRun
    ) -> None:
        self._thread, self._subject, self._rules = thread, subject, rules
        self._answer, self._run = answer, run
        self._checked = CheckedAnswer(thread, answer, rules)

    def reading(self) -> ThreadReading:
        checked, answer = self._checked, self._answer
        positions = checked.positions()
        objections = self._objections()
        outcome = self._outcome()
        decisions = self._decisions()
        open_issues = checked.citations(answer.open_issues, "open issue")
        narrative = self._narrative()
        has_consensus = self._has_consensus(outcome, positions, objections)
        stances = [one.stance for one in positions if one.tier is Tier.SAID]
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
                self._run.kept_out,
                self._run.unread,
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

    def _differ(self, what: str, ours: str, theirs: str) -> None:
        self._checked.differences.append(ReadDifference(what, ours, theirs))

    def _proposition(self) -> Proposition | None:
        """The rules' where they see a form; else the sentence that the model names."""
        found = locate(self._thread, self._answer.proposition) if self._answer.proposition else None
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
        evidence = self._checked.outcome_evidence()
        if ours.tier is Tier.SAID:
            if ours.kind is not kind:
                self._differ("outcome", ours.kind.value, kind.value)
            return ours
        if not evidence:
            return ours
        authority = self._authority(kind, evidence)
        return ThreadOutcome(
            kind=kind,
            tier=Tier.SAID,
            confidence=_CONFIDENCE,
            sentence=self._outcome_sentence(kind, authority),
            basis=ConsensusBasis.RULED if authority else ConsensusBasis.UNKNOWN,
            evidence=tuple(one.citation() for one in evidence),
            authority=authority,
            votes=ours.votes,
            rule="model",
            read_by=ReadBy.MODEL,
            by=f"{authority.name} ({authority.role})" if authority else "",
        )

    def _authority(self, kind: OutcomeKind, evidence: Sequence[LocatedQuote]) -> Authority | None:
        """Only one whom the source names decides; what a mail says of its writer's role is nothing."""
        if kind not in _DECIDED:
            return None
        for quote in evidence:
            if role := self._thread.people.role(quote.mail.number):
                mail = quote.mail.mail
                return Authority(mail.address.lower(), display_name(mail.name, mail.address), role.role)
        return None

    def _outcome_sentence(self, kind: OutcomeKind, authority: Authority | None) -> str:
        """The model's words where all are borne, else ours; labelled, because lists show nothing more."""
        claimed = self._answer.outcome_sentence
        label = f" (as {self._run.model} reads it)"
        if claimed and supported(self._thread, claimed, self._subject):
            return clipped(claimed.text, MAX_WORDS - len(label.split())) + label
        by = f", by {authority.name} ({authority.role})" if authority else ""
        return (
            clipped(f"{KINDS[kind]}: {subject_words(self._subject)}{by}", MAX_WORDS - len(label.split()))
            + label
        )

    def _objections(self) -> list[Objection]:
        """The model's; those of people who are said to object are heard whatever it says."""
        found = self._checked.objections()
        there = {(one.citation.message_id, one.citation.start) for one in found}
        said = {
            one.citation.message_id
            for one in self._rules.positions
            if one.tier is Tier.SAID and one.stance is PositionStance.OPPOSE
        }
        left_out = [
            one
            for one in self._rules.objections
            if one.citation.message_id in said and (one.citation.message_id, one.citation.start) not in there
        ]
        return [*found, *left_out]

    def _key_points(self, objections: Sequence[Objection]) -> list[SentenceCitation]:
        """The model's; and remarks against it that the model left out, so that nobody is silenced by it."""
        found = self._checked.citations(self._answer.key_points, "key point")[:_MAX_POINTS]
        heard = {(one.citation.message_id, one.citation.start) for one in objections}
        left_out = [
            one.citation
            for one in self._rules.objections
            if (one.citation.message_id, one.citation.start) not in heard
        ]
        points = [*(found or self._rules.key_points), *left_out]
        return list({(point.message_id, point.start): point for point in points}.values())

    def _decisions(self) -> list[Decision]:
        """Those by one with authority, whichever reader saw them; the rest is possible."""
        kept = {
            (one.citation.message_id, one.citation.start): one
            for one in self._rules.decisions
            if one.tier is Tier.SAID
        }
        for citation in self._checked.citations(self._answer.decisions, "decision"):
            mail = next(one for one in self._thread.mails if one.mail.message_id == citation.message_id)
            tier = Tier.SAID if self._thread.people.role(mail.number) else Tier.REMARK
            kept.setdefault(
                (citation.message_id, citation.start), Decision(mail.mail.address.lower(), citation, tier)
            )
        return list(kept.values())

    def _narrative(self) -> tuple[NarratedSentence, ...]:
        return tuple(
            NarratedSentence(sentence.text, tuple(one.citation() for one in evidence))
            for sentence in self._answer.narrative
            if (evidence := self._borne(sentence))
        )

    def _borne(self, sentence: ClaimedSentence | None) -> tuple[LocatedQuote, ...]:
        evidence = supported(self._thread, sentence, self._subject)
        if sentence is not None and not evidence:
            self._checked.refused.append("sentence: it says more than what it cites")
        return evidence

    def _headline(
        self, outcome: ThreadOutcome, objections: Iterable[Objection], open_issues: Sequence[SentenceCitation]
    ) -> Headline:
        ours = self._rules.headline
        words = self._proposition()
        asked = self._line(self._answer.asked) or (
            clipped(words.words.quote, MAX_WORDS) if words and words.words else ours.asked
        )
        outstanding = [one.citation for one in objections if one.fate is Fate.OUTSTANDING]
        rest = [*outstanding, *open_issues]
        left = self._line(self._answer.left) or (clipped(rest[0].quote, MAX_WORDS) if rest else ours.left)
        return Headline(asked=asked, came_out=outcome.sentence, left=left)

    def _line(self, sentence: ClaimedSentence | None) -> str:
        return (
            clipped(sentence.text, MAX_WORDS)
            if sentence and supported(self._thread, sentence, self._subject)
            else ""
        )

    def _has_consensus(
        self, outcome: ThreadOutcome, positions: Sequence[Position], objections: Sequence[Objection]
    ) -> bool:
        """The model's word, where what is kept bears it: an agreed end or two voices, and nobody against."""
        if self._rules.has_consensus:
            return True
        if not self._answer.has_consensus or outcome.kind is OutcomeKind.CONTESTED:
            return False
        sure_against = any(
            one.stance is PositionStance.OPPOSE and one.read_by is ReadBy.RULES for one in positions
        )
        left = any(one.fate is Fate.OUTSTANDING for one in objections)
        if (sure_against or left) and outcome.basis is not ConsensusBasis.RULED:
            return False
        voices = sum(one.stance is PositionStance.SUPPORT for one in positions)
        agreed = outcome.kind in _AGREED and outcome.tier is Tier.SAID
        return agreed or voices >= _ENOUGH_VOICES or outcome.kind is OutcomeKind.REJECTED


def found_sentences(thread: LinkedThread, parts: Sequence[ModelAnswer]) -> list[dict[str, Any]]:
    """Of each mail from which a part quotes something that is there: those sentences, in order."""
    by_mail: dict[int, dict[int, str]] = {}
    for quote in (quote for part in parts for quote in _quotes(part)):
        located = locate(thread, quote)
        if located is not None:
            for sentence in located.sentences:
                by_mail.setdefault(located.mail.number, {})[sentence.start] = sentence.text
    return [
        mail_header(thread, thread.mails[number])
        | {"text": " ".join(text for _, text in sorted(by_mail[number].items()))}
        for number in sorted(by_mail)
    ]


def _quotes(part: ModelAnswer) -> Iterator[ClaimedQuote]:
    if part.proposition is not None:
        yield part.proposition
    yield from (one.words for one in part.positions)
    yield from (one.words for one in part.objections)
    yield from (*part.decisions, *part.open_issues, *part.key_points)
    if part.outcome_sentence is not None:
        yield from part.outcome_sentence.evidence


def merge_answers(parts: Sequence[ModelAnswer], whole: ModelAnswer) -> ModelAnswer:
    """The answers to the parts of a thread as one: their lists, and what came of it from the merging call."""
    first = parts[0]
    return replace(
        whole,
        genre=whole.genre or first.genre,
        proposition=whole.proposition or first.proposition,
        positions=tuple(
            sorted((one for part in parts for one in part.positions), key=lambda one: one.words.mail)
        ),
        objections=tuple(one for part in parts for one in part.objections),
        decisions=_each_once(part.decisions for part in parts),
        open_issues=whole.open_issues or _each_once(part.open_issues for part in parts),
        key_points=whole.key_points or _each_once(part.key_points for part in parts),
    )


def _each_once(parts: Iterable[tuple[ClaimedQuote, ...]]) -> tuple[ClaimedQuote, ...]:
    return tuple(dict.fromkeys(quote for part in parts for quote in part))
