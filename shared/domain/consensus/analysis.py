"""A thread read as a whole: who ended up where, what was proposed, decided and left open."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from shared.domain.consensus.calls import consensus_calls
from shared.domain.consensus.models import (
    CallKind,
    ConsensusCall,
    ConsensusMessage,
    MessageStance,
    Participant,
    Stance,
    StanceCounts,
    Statement,
    ThreadConsensus,
)
from shared.domain.consensus.stance import message_stance
from shared.domain.consensus.statements import Matter, statements, without_repeats
from shared.domain.consensus.text_folding import fold
from shared.domain.consensus.verdict import judge

_TAKEN = (Stance.SUPPORT, Stance.OBJECTION)
_JOINS_AN_OBJECTION = frozenset({"+1", "agree", "agreed", "could not agree more", "ack"})
_MIN_NAME = 3


def analyse_thread(messages: Iterable[ConsensusMessage], chairs: Collection[str] = ()) -> ThreadConsensus:
    """What a thread's messages, in whatever order they come, amount to."""
    ordered = in_order(messages)
    # One message at a time: its sentences are split once, and read three times.
    read = [(message_stance(m), consensus_calls(m, chairs), list(statements(m))) for m in ordered]
    stances = _Resolver().stances(ordered, [_own_voice(stance, calls) for stance, calls, _ in read])
    participants = _participants(ordered, stances)
    counts = StanceCounts(**Counter(participant.stance.value for participant in participants))
    calls = [call for _, of_message, _ in read for call in of_message]
    found = [statement for _, _, of_message in read for statement in of_message]
    verdict = judge(counts, calls, _objectors(participants))
    return ThreadConsensus(
        has_consensus=verdict.has_consensus,
        consensus_type=verdict.consensus_type,
        counts=counts,
        reason=verdict.reason,
        participants=participants,
        stances=stances,
        calls=calls,
        proposals=without_repeats(statement for matter, statement in found if matter is Matter.PROPOSAL),
        decisions=without_repeats(_decisions(found, calls)),
        open_issues=without_repeats(_open_issues(ordered, stances, found)),
    )


def _own_voice(stance: MessageStance, calls: Sequence[ConsensusCall]) -> MessageStance:
    """Who opens a call, or rules on one, speaks for the group."""
    if any(call.by_chair for call in calls):
        return MessageStance(stance.message_key, Stance.NEUTRAL)
    return stance


def in_order(messages: Iterable[ConsensusMessage]) -> list[ConsensusMessage]:
    """Each message once, by date; one without a date stays behind the one it came after."""
    unique = list({message.key: message for message in messages}.values())
    times, last = {}, datetime.min.replace(tzinfo=UTC)
    for message in unique:
        last = _utc(message.date) or last
        times[message.key] = last
    return sorted(unique, key=lambda message: times[message.key])


def _utc(date: datetime | None) -> datetime | None:
    return date.replace(tzinfo=UTC) if date is not None and date.tzinfo is None else date


def _person(message: ConsensusMessage) -> str:
    """One person, one voice: by address; without one, by name; without both, nobody else's."""
    email = message.sender_email.strip().casefold()
    return email or (
        f"name:{fold(message.sender_name)}" if message.sender_name.strip() else f"message:{message.key}"
    )


@dataclass
class _Resolver:
    """Turns "I agree" into a stance on the proposal: it depends on what is agreed with."""

    _by_id: dict[str, tuple[str, Stance]] = field(default_factory=dict)
    _latest: dict[str, Stance] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def stances(
        self, messages: Sequence[ConsensusMessage], alone: Sequence[MessageStance]
    ) -> list[MessageStance]:
        """The stances in the light of the thread, from those of each message by itself."""
        return [self._take(message, stance) for message, stance in zip(messages, alone, strict=True)]

    def _take(self, message: ConsensusMessage, alone: MessageStance) -> MessageStance:
        stance = self._resolved(message, alone)
        person = _person(message)
        for identity in {message.key, message.message_id or message.key}:
            self._by_id[identity] = (person, stance.stance)
        if stance.stance in _TAKEN or stance.is_explicit:
            self._latest[person] = stance.stance
        for name in _names(message):
            self._names.setdefault(name, person)
        return stance

    def _resolved(self, message: ConsensusMessage, stance: MessageStance) -> MessageStance:
        if not stance.is_relative or stance.stance not in _TAKEN:
            return stance
        if self._answered(message, stance) is not Stance.OBJECTION:
            return stance
        if stance.stance is Stance.SUPPORT and stance.cue in _JOINS_AN_OBJECTION:
            return replace(stance, stance=Stance.OBJECTION, cue=f"{stance.cue}, to an objection")
        return replace(stance, stance=Stance.UNCLEAR, cue=f"{stance.cue}, to an objection")

    def _answered(self, message: ConsensusMessage, stance: MessageStance) -> Stance | None:
        """The stance of whom this message names or, naming nobody, answers."""
        named = self._names.get(stance.agrees_with)
        if named is not None and named != _person(message):
            return self._latest.get(named)
        person, answered = self._by_id.get(message.in_reply_to or "", ("", None))
        return answered if person != _person(message) else None


def _names(message: ConsensusMessage) -> set[str]:
    words = {fold(word).strip(".,'\"()") for word in message.sender_name.split()}
    local = fold(message.sender_email).partition("@")[0]
    return {word for word in words | {local} if len(word) >= _MIN_NAME}


def _participants(
    messages: Sequence[ConsensusMessage], stances: Sequence[MessageStance]
) -> list[Participant]:
    by_person: dict[str, list[tuple[ConsensusMessage, MessageStance]]] = {}
    for message, stance in zip(messages, stances, strict=True):
        by_person.setdefault(_person(message), []).append((message, stance))
    return [_participant(spoken) for spoken in by_person.values()]


def _participant(spoken: list[tuple[ConsensusMessage, MessageStance]]) -> Participant:
    stances = [stance for _, stance in spoken]
    final = _final(stances)
    name = next((message.sender_name for message, _ in reversed(spoken) if message.sender_name), "")
    email = spoken[0][0].sender_email.strip().casefold()
    return Participant(email, name, final.stance, final.evidence, len(spoken), final.message_key)


def _final(stances: list[MessageStance]) -> MessageStance:
    """The latest stance taken; a later question or remark does not undo it, a withdrawal does."""
    taken = [s for s in stances if s.stance in _TAKEN or (s.stance is Stance.NEUTRAL and s.is_explicit)]
    if taken:
        return taken[-1]
    for kind in (Stance.UNCLEAR, Stance.QUESTION):
        if of_kind := [stance for stance in stances if stance.stance is kind]:
            return of_kind[-1]
    return stances[-1]


def _objectors(participants: list[Participant]) -> frozenset[str]:
    return frozenset(person.email for person in participants if person.stance is Stance.OBJECTION)


def _decisions(found: list[tuple[Matter, Statement]], calls: list[ConsensusCall]) -> list[Statement]:
    outcomes = (CallKind.DECLARED, CallKind.DECLARED_AGAINST, CallKind.NO_CONSENSUS)
    declared = [
        Statement(call.evidence, call.sender_email, call.kind.value)
        for call in calls
        if call.kind in outcomes
    ]
    return [*declared, *(statement for matter, statement in found if matter is Matter.DECISION)]


def _open_issues(
    messages: Sequence[ConsensusMessage],
    stances: Sequence[MessageStance],
    found: list[tuple[Matter, Statement]],
) -> list[Statement]:
    """What is said to be open, and the conditions and concerns on which a stance hangs."""
    hanging = [
        Statement(stance.evidence, message.sender_email, stance.cue)
        for message, stance in zip(messages, stances, strict=True)
        if stance.evidence is not None and (stance.is_conditional or stance.cue == "concern")
    ]
    return [*(statement for matter, statement in found if matter is Matter.OPEN_ISSUE), *hanging]
