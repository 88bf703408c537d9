from datetime import UTC, datetime, timedelta
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.consensus.analysis import analyse_thread
from shared.domain.consensus.models import (
    ConsensusMessage,
    ConsensusType,
    Stance,
    StanceCounts,
    ThreadConsensus,
)
from tests.support.properties import STEADY

START = datetime(2024, 1, 1, tzinfo=UTC)


def thread(*said: tuple[str, str], replies: dict[int, int] | None = None) -> list[ConsensusMessage]:
    """Messages by (name, text), a day apart; `replies` tells which answers which."""
    answered = replies or {}
    return [
        ConsensusMessage(
            key=f"k{number}",
            sender_email=f"{name.lower()}@example.com",
            text=text,
            sender_name=name,
            date=START + timedelta(days=number),
            message_id=f"<{number}@example.com>",
            in_reply_to=f"<{answered[number]}@example.com>" if number in answered else None,
        )
        for number, (name, text) in enumerate(said)
    ]


def stance_of(result: ThreadConsensus, name: str) -> Stance:
    return next(person.stance for person in result.participants if person.name == name)


def test_support_without_objection_is_agreement() -> None:
    result = analyse_thread(
        thread(("Ann", "I propose to adopt it."), ("Bob", "I support adoption."), ("Carl", "+1"))
    )
    assert (result.has_consensus, result.consensus_type) == (True, ConsensusType.AGREEMENT)
    assert (result.counts.support, result.counts.objection) == (2, 0)
    assert [statement.evidence.quote for statement in result.proposals] == ["I propose to adopt it."]


def test_objections_alone_are_dissent() -> None:
    result = analyse_thread(thread(("Ann", "I propose to adopt it."), ("Bob", "I object."), ("Carl", "-1")))
    assert (result.has_consensus, result.consensus_type) == (False, ConsensusType.DISSENT)


def test_both_are_mixed_and_no_consensus_when_they_balance() -> None:
    result = analyse_thread(
        thread(("Bob", "I object."), ("Carl", "I support it."), ("Dora", "I support it."))
    )
    assert (result.has_consensus, result.consensus_type) == (False, ConsensusType.MIXED)


def test_many_for_and_one_against_is_rough_consensus() -> None:
    voices = [(f"P{number}", "I support adoption.") for number in range(4)]
    result = analyse_thread(thread(*voices, ("Carl", "I object to this.")))
    assert (result.has_consensus, result.consensus_type) == (True, ConsensusType.MIXED)


def test_one_voice_is_no_consensus() -> None:
    assert not analyse_thread(thread(("Bob", "I support adoption."))).has_consensus


def test_a_thread_without_stances_has_no_type() -> None:
    result = analyse_thread(thread(("Ann", "Here are the minutes."), ("Bob", "When is the next meeting?")))
    assert (result.has_consensus, result.consensus_type) == (False, None)
    assert result.counts == StanceCounts(neutral=1, question=1)


def test_an_empty_thread_has_nothing() -> None:
    assert analyse_thread([]).participants == []


def test_one_person_has_one_voice_however_the_address_is_written() -> None:
    messages = [
        ConsensusMessage("k1", "Bob@Example.com", "I support adoption."),
        ConsensusMessage("k2", "bob@example.com", "+1"),
        ConsensusMessage("k3", " BOB@EXAMPLE.COM ", "I support it."),
    ]
    assert analyse_thread(messages).counts == StanceCounts(support=1)


def test_the_latest_stance_wins() -> None:
    result = analyse_thread(
        thread(("Bob", "I object."), ("Ann", "I fixed it."), ("Bob", "I support it now."))
    )
    assert stance_of(result, "Bob") is Stance.SUPPORT
    turned = analyse_thread(thread(("Bob", "I support it."), ("Bob", "I no longer support this draft.")))
    assert stance_of(turned, "Bob") is Stance.OBJECTION


def test_a_later_question_or_remark_does_not_undo_a_stance() -> None:
    result = analyse_thread(thread(("Bob", "I object."), ("Bob", "What is section 3?"), ("Bob", "Thanks.")))
    assert stance_of(result, "Bob") is Stance.OBJECTION


def test_a_withdrawn_objection_is_none() -> None:
    result = analyse_thread(thread(("Bob", "I object."), ("Bob", "I withdraw my objection.")))
    assert stance_of(result, "Bob") is Stance.NEUTRAL


def test_plus_one_to_an_objection_is_an_objection() -> None:
    messages = thread(("Ann", "Let's adopt it."), ("Bob", "I object."), ("Carl", "+1"), replies={1: 0, 2: 1})
    result = analyse_thread(messages)
    assert stance_of(result, "Carl") is Stance.OBJECTION
    to_root = thread(("Ann", "Let's adopt it."), ("Bob", "I object."), ("Carl", "+1"), replies={1: 0, 2: 0})
    assert stance_of(analyse_thread(to_root), "Carl") is Stance.SUPPORT


def test_agreeing_with_somebody_who_objected_is_an_objection() -> None:
    messages = thread(("Ann", "Let's adopt it."), ("Bob", "I object."), ("Carl", "I agree with Bob."))
    assert stance_of(analyse_thread(messages), "Carl") is Stance.OBJECTION


def test_support_for_the_document_stands_even_in_answer_to_an_objection() -> None:
    messages = thread(("Bob", "I object."), ("Carl", "+1 to adoption"), replies={1: 0})
    assert stance_of(analyse_thread(messages), "Carl") is Stance.SUPPORT


def test_disagreeing_with_an_objection_is_not_counted_as_one() -> None:
    messages = thread(("Bob", "I object."), ("Carl", "I disagree."), replies={1: 0})
    assert stance_of(analyse_thread(messages), "Carl") is Stance.UNCLEAR


def test_quoted_stances_are_not_counted() -> None:
    result = analyse_thread(thread(("Bob", "On Monday Ann wrote:\n> I object.\n> -1\n\nNoted, thanks.")))
    assert result.counts == StanceCounts(neutral=1)


def test_a_chairs_call_settles_it() -> None:
    messages = thread(
        ("Bob", "I support adoption."),
        ("Carl", "I object to adoption."),
        ("Dora", "I believe we have rough consensus.\n\nDora, WG chair"),
    )
    result = analyse_thread(messages)
    assert (result.has_consensus, result.consensus_type) == (True, ConsensusType.MIXED)
    assert "declared" in result.reason
    assert [statement.evidence.quote for statement in result.decisions] == [
        "I believe we have rough consensus."
    ]


def test_what_a_chair_rules_is_not_a_voice_of_its_own() -> None:
    ruling = "The last call has ended. The document is not ready.\n\nAnn, as chair"
    result = analyse_thread(thread(("Ann", "Please review."), ("Bob", "I support it."), ("Ann", ruling)))
    assert stance_of(result, "Ann") is Stance.NEUTRAL
    assert (result.has_consensus, result.counts.objection) == (False, 0)


def test_an_objector_cannot_declare_consensus() -> None:
    messages = thread(("Bob", "I support it."), ("Carl", "I object. We have consensus against you."))
    assert not analyse_thread(messages).has_consensus


def test_a_chair_who_finds_no_consensus_overrules_the_voices() -> None:
    voices = [(f"P{number}", "I support adoption.") for number in range(5)]
    messages = thread(*voices, ("Dora", "There is no consensus on this."))
    assert not analyse_thread(messages, chairs=["dora@example.com"]).has_consensus
    assert analyse_thread(messages).has_consensus


def test_open_issues_hold_conditions_and_concerns() -> None:
    messages = thread(
        ("Bob", "I would support this if the IANA section were complete."),
        ("Carl", "The port number is still to be decided."),
        ("Dora", "I have some concerns about latency."),
    )
    quotes = {statement.evidence.quote for statement in analyse_thread(messages).open_issues}
    assert quotes == {message.text for message in messages}


def test_the_order_of_arrival_does_not_matter() -> None:
    messages = thread(
        ("Bob", "I object."), ("Ann", "I fixed it."), ("Bob", "I support it now."), ("Carl", "+1")
    )
    expected = analyse_thread(messages)
    assert all(analyse_thread(order) == expected for order in permutations(messages))


def test_a_message_that_comes_twice_counts_once() -> None:
    messages = thread(("Bob", "I support it."), ("Carl", "+1"))
    assert analyse_thread([*messages, *messages]) == analyse_thread(messages)


def test_dates_with_and_without_zone_and_none_at_all_can_stand_together() -> None:
    messages = [
        ConsensusMessage("k1", "a@example.com", "I object.", date=datetime(2024, 1, 2)),  # noqa: DTZ001
        ConsensusMessage("k2", "a@example.com", "I support it.", date=datetime(2024, 1, 3, tzinfo=UTC)),
        ConsensusMessage("k3", "b@example.com", "+1"),
    ]
    assert analyse_thread(messages).counts == StanceCounts(support=2)


def test_senders_without_an_address_are_told_apart_by_name() -> None:
    messages = [
        ConsensusMessage("k1", "", "I support it.", sender_name="Ann"),
        ConsensusMessage("k2", "", "+1", sender_name="ann"),
        ConsensusMessage("k3", "", "+1"),
        ConsensusMessage("k4", "", "+1"),
    ]
    assert analyse_thread(messages).counts == StanceCounts(support=3)


_TEXTS = st.sampled_from(
    ["I support it.", "I object.", "+1", "I agree with P1.", "No objection.", "Why?", "Hm.", ""]
)


@STEADY
@given(st.lists(st.tuples(st.integers(0, 4), _TEXTS, st.integers(0, 9)), max_size=12))
def test_every_participant_is_counted_exactly_once(said: list[tuple[int, str, int]]) -> None:
    replies = {number: min(parent, number - 1) for number, (*_, parent) in enumerate(said) if number}
    messages = thread(*((f"P{person}", text) for person, text, _ in said), replies=replies)
    result = analyse_thread(messages)
    counts = result.counts
    total = counts.support + counts.objection + counts.neutral + counts.question + counts.unclear
    assert total == len({person for person, *_ in said}) == len(result.participants)
    assert len(result.stances) == len(messages)
