"""Threads are a function of the set of messages, in any order of arrival."""

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.core.ids import message_key, thread_id
from shared.mail.models import ParsedAddress, ParsedMail
from shared.threading.assignment import BY_OPERATOR, Merge, ReplyLinks, ThreadState, assign_links, links_of
from tests.support.threads import InMemoryThreads, assign

START = datetime(2024, 1, 1, tzinfo=UTC)


def message(
    name: str,
    references: Sequence[str] = (),
    *,
    parent: str | None = None,
    subject: str = "",
    day: float = 0,
    sender: str = "ann@example.org",
) -> ParsedMail:
    return ParsedMail(
        message_key=message_key(name),
        message_id=name,
        in_reply_to=[parent] if parent else [],
        references=list(references),
        subject=subject,
        sender=ParsedAddress("", sender),
        to=[],
        cc=[],
        date=START + timedelta(days=day),
        body_raw="",
        body_normalized="",
        body_html=None,
        segments=[],
        headers={},
        attachments=[],
        draft_mentions=[],
    )


def threads_of(*archives: Sequence[ParsedMail]) -> InMemoryThreads:
    known = InMemoryThreads()
    for archive in archives:
        known.apply(assign(archive, known))
    return known


def groups(known: InMemoryThreads) -> list[list[str]]:
    return sorted(state.present for state in known.threads.values() if state.present)


def test_references_make_a_thread() -> None:
    known = threads_of(
        [message("<a>"), message("<b>", ["<a>"]), message("<c>", ["<a>", "<b>"]), message("<x>")]
    )
    assert groups(known) == [["<a>", "<b>", "<c>"], ["<x>"]]


def test_in_reply_to_makes_a_thread() -> None:
    assert groups(threads_of([message("<a>"), message("<b>", parent="<a>")])) == [["<a>", "<b>"]]


def test_siblings_whose_parent_is_missing_are_one_thread_named_after_the_parent() -> None:
    known = threads_of([message("<b>", ["<a>"], day=1), message("<c>", ["<a>"], day=2)])
    assert list(known.threads) == [thread_id("<a>")]
    assert known.threads[thread_id("<a>")].present == ["<b>", "<c>"]


def test_a_thread_keeps_its_id_when_its_root_arrives_late() -> None:
    known = threads_of([message("<b>", ["<a>"], day=1)])
    result = assign([message("<a>")], known)
    assert result.merges == []
    assert result.assignments == {"<a>": thread_id("<a>")}


def test_a_late_ancestor_renames_the_thread_and_says_so() -> None:
    known = threads_of([message("<c>", ["<b>"], day=2)])
    result = assign([message("<b>", ["<a>"], day=1)], known)
    assert result.merges == [Merge(thread_id("<b>"), thread_id("<a>"))]
    assert list(result.threads) == [thread_id("<a>")]


def test_a_mail_that_names_many_threads_joins_one_of_them_and_merges_none() -> None:
    known = threads_of([message("<a>", day=0)], [message("<x>", day=1)], [message("<y>", day=1)])
    result = assign([message("<m>", ["<a>", "<x>", "<y>"], day=2)], known)
    assert (result.merges, result.moved) == ([], {})
    known.apply(result)
    assert groups(known) == [["<a>"], ["<m>", "<y>"], ["<x>"]]


def test_a_late_ancestor_takes_its_own_answers_out_of_the_thread_that_they_were_in() -> None:
    answers = [message("<b>", ["<a>", "<late>"], day=1), message("<c>", ["<a>", "<late>", "<b>"], day=2)]
    known = threads_of([message("<a>")], answers)
    assert groups(known) == [["<a>", "<b>", "<c>"]]
    result = assign([message("<late>", day=0.5)], known)
    old, new = thread_id("<a>"), thread_id("<late>")
    assert result.moved == {"<b>": (old, new), "<c>": (old, new)}
    known.apply(result)
    assert groups(known) == [["<a>"], ["<b>", "<c>", "<late>"]]


def test_answers_that_share_an_absent_root_stay_together_and_follow_it_when_it_comes() -> None:
    known = threads_of([message("<b>", ["<a>"])], [message("<c>", ["<a>", "<x>"])])
    assert groups(known) == [["<b>", "<c>"]]
    known.apply(assign([message("<a>", ["<r>"])], known))
    assert list(known.threads) == [thread_id("<r>")]
    assert groups(known) == [["<a>", "<b>", "<c>"]]


def test_the_same_ids_in_two_sources_are_two_threads() -> None:
    mails = [message("<a>"), message("<b>", ["<a>"])]
    first = assign(mails, InMemoryThreads(), "one").assignments
    second = assign(mails, InMemoryThreads(), "two").assignments
    assert set(first.values()) == {thread_id("<a>", "one")} != set(second.values())


def test_an_operators_word_stands_over_headers_and_subjects() -> None:
    mails = [message("<a>"), message("<x>"), message("<b>", ["<a>"]), message("<c>", ["<a>", "<b>"])]
    known = threads_of(mails)
    known.apply(assign_links([ReplyLinks("<b>", ["<x>"], [], decided=BY_OPERATOR)], known))
    assert groups(known) == [["<a>"], ["<b>", "<c>", "<x>"]]
    known.apply(assign_links([ReplyLinks("<b>", [], [], decided=BY_OPERATOR)], known))
    assert groups(known) == [["<a>"], ["<b>", "<c>"], ["<x>"]]
    known.apply(assign_links([links_of(mails[2])], known))
    assert groups(known) == [["<a>", "<b>", "<c>"], ["<x>"]]


def test_the_same_message_again_changes_nothing() -> None:
    mails = [message("<a>"), message("<b>", ["<a>"], day=1)]
    known = threads_of(mails)
    result = assign([*mails, *mails], known)
    assert (result.merges, result.threads) == ([], {})
    assert set(result.assignments) == {"<a>", "<b>"}


def test_cycles_end_and_have_a_root() -> None:
    known = threads_of(
        [message("<a>", ["<c>"], day=2), message("<b>", ["<a>"], day=1), message("<c>", ["<b>"])]
    )
    assert groups(known) == [["<a>", "<b>", "<c>"]]
    assert list(known.threads) == [thread_id("<a>")]


def test_a_message_that_refers_to_itself_is_a_root() -> None:
    assert list(threads_of([message("<a>", ["<a>"], parent="<a>")]).threads) == [thread_id("<a>")]


def test_a_chain_of_three_hundred_replies_is_one_thread_even_if_each_names_only_its_parent() -> None:
    chain = [message(f"<{n}>", [f"<{n - 1}>"] if n else [], day=n / 100) for n in range(300)]
    for order in (chain, chain[::-1], chain[::2] + chain[1::2]):
        known = threads_of(*[[one] for one in order])
        assert list(known.threads) == [thread_id("<0>")]
        assert len(known.threads[thread_id("<0>")].present) == 300


def test_a_message_without_an_id_is_a_thread_of_its_own() -> None:
    lost = dataclasses.replace(message("<a>"), message_id=None)
    known = threads_of([lost])
    assert groups(known) == [[lost.node]]


def test_a_headerless_reply_finds_its_thread_by_subject() -> None:
    known = threads_of(
        [message("<a>", subject="Path MTU discovery", day=0)],
        [message("<b>", subject="RE: [quic] path  mtu discovery", day=3)],
    )
    assert groups(known) == [["<a>", "<b>"]]


def test_an_answer_to_a_mail_that_is_there_is_not_threaded_by_subject() -> None:
    known = threads_of(
        [
            message("<a>", subject="Path MTU discovery"),
            message("<z>", subject="Something else"),
            message("<b>", ["<z>"], subject="Re: Path MTU discovery", day=1),
        ]
    )
    assert groups(known) == [["<a>"], ["<b>", "<z>"]]


FIRST = message("<a>", subject="Path MTU discovery")
ORPHAN = message("<b>", ["<y>", "<z>"], subject="Path MTU discovery", day=1)
"""It names missing messages, so it is an answer, although its subject does not show that."""


def test_an_answer_whose_ancestors_nobody_has_goes_by_its_subject_and_is_marked() -> None:
    answer = message("<c>", ["<y>", "<z>", "<b>"], subject="Other words", day=2)
    for archives in ([[FIRST, ORPHAN, answer]], [[answer], [ORPHAN], [FIRST]]):
        known = threads_of(*archives)
        assert groups(known) == [["<a>", "<b>", "<c>"]]
        members = known.threads[thread_id("<a>")].members
        assert members["<b>"] == ("<a>", ("<z>", "<y>"), "subject", "")
        assert members["<c>"].via == ""


def test_such_an_answer_goes_to_its_ancestor_when_that_comes() -> None:
    parent = message("<z>", subject="Something else")
    root = message("<y>", subject="And another")
    late = threads_of([FIRST, ORPHAN], [parent], [root])
    assert groups(late) == [["<a>"], ["<b>", "<z>"], ["<y>"]]
    assert picture(late) == picture(threads_of([root, parent, ORPHAN, FIRST]))
    assert groups(threads_of([FIRST, ORPHAN], [root])) == [["<a>"], ["<b>", "<y>"]]
    assert not any(member.via for state in late.threads.values() for member in state.members.values())


def test_answers_to_an_absent_mail_stay_together_where_no_subject_leads_further() -> None:
    apart = [
        [message("<a>", subject="Path MTU discovery", day=30), ORPHAN],  # not sent yet
        [message("<a>", subject="Path MTU discovery", day=-30), ORPHAN],  # too long ago
        [message("<a>", subject="Another matter"), ORPHAN],
    ]
    for mails in apart:
        sibling = message("<s>", ["<y>"], subject="Whatever else", day=3)
        assert groups(threads_of([*mails, sibling])) == [["<a>"], ["<b>", "<s>"]]


def test_a_patch_that_names_an_absent_version_begins_its_own_thread() -> None:
    before = message("<a>", subject="[PATCH v2] x: fix the thing")
    again = message("<b>", ["<v1>"], subject="[PATCH v2] x: fix the thing", day=1)
    assert groups(threads_of([before, again])) == [["<a>"], ["<b>"]]


def test_no_mail_that_carries_a_subject_into_another_thread_draws_answers_there() -> None:
    reply = message("<r>", subject="Re: Path MTU discovery", day=2)
    trap = message("<t>", subject="A trap")
    honest = [FIRST, ORPHAN, reply, trap]
    forged = [
        message(f"<f{number}>", ["<t>"], subject="Re: Path MTU discovery", day=day)
        for number, day in enumerate((0.5, 0.99, 1.5, 1.99))
    ]
    assert groups(threads_of(honest)) == [["<a>", "<b>", "<r>"], ["<t>"]]
    assert groups(threads_of(honest, forged)) == [
        ["<a>", "<b>", "<r>"],
        ["<f0>", "<f1>", "<f2>", "<f3>", "<t>"],
    ]


def test_a_forward_goes_with_what_it_forwards() -> None:
    assert groups(threads_of([FIRST, message("<f>", subject="FW: Path MTU discovery", day=2)])) == [
        ["<a>", "<f>"]
    ]


def test_subjects_thread_only_replies_only_in_time_and_only_if_they_say_something() -> None:
    apart = [
        [message("<a>", subject="Path MTU discovery"), message("<b>", subject="Path MTU discovery", day=1)],
        [
            message("<a>", subject="Path MTU discovery"),
            message("<b>", subject="Re: Path MTU discovery", day=40),
        ],
        [
            message("<a>", subject="Path MTU discovery", day=25),
            message("<b>", subject="Re: Path MTU discovery"),
        ],
        [message("<a>", subject="Question"), message("<b>", subject="Re: question", day=1)],
        [message("<a>", subject=""), message("<b>", subject="Re:", day=1)],
        [
            message("<a>", subject="[PATCH 1/2] x: fix the thing"),
            message("<b>", subject="Re: [PATCH 2/2] x: fix the thing", day=1),
        ],
    ]
    for mails in apart:
        assert groups(threads_of(mails)) == [["<a>"], ["<b>"]], mails[1].subject


def test_a_patch_that_lost_its_headers_finds_its_series() -> None:
    cover = message("<0>", subject="[PATCH v2 0/2] Two fixes")
    first = message("<1>", ["<0>"], subject="[PATCH v2 1/2] One", day=0.0001)
    lost = message("<2>", subject="[PATCH v2 2/2] Two", day=0.0002)
    other = message("<3>", subject="[PATCH v2 2/2] Two", day=0.0002, sender="bob@example.org")
    assert groups(threads_of([lost, other], [first, cover])) == [["<0>", "<1>", "<2>"], ["<3>"]]


def test_a_thread_survives_its_document() -> None:
    known = threads_of(
        [message("<a>", subject="Path MTU"), message("<b>", ["<a>"], subject="Re: Path MTU", day=1)]
    )
    for state in known.threads.values():
        assert ThreadState.from_document(json.loads(json.dumps(state.to_document()))) == state


IDS = [f"<{n}>" for n in range(12)]
SUBJECTS = [
    "",
    "Path MTU discovery",
    "Re: Path MTU discovery",
    "Fwd: Path MTU discovery",
    "Re: [PATCH 1/3] fix it",
    "[PATCH 1/3] fix it",
    "[PATCH 2/3] fix that",
    "[PATCH v2 1/3] fix it",
    "Re: hi",
]


@st.composite
def some_messages(draw: st.DrawFn) -> list[ParsedMail]:
    names = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=12, unique=True))
    return [
        message(
            name,
            draw(st.lists(st.sampled_from(IDS), max_size=3)),
            parent=draw(st.none() | st.sampled_from(IDS)),
            subject=draw(st.sampled_from(SUBJECTS)),
            day=draw(st.sampled_from([0, 0.01, 5, 20, 30, 60])),
        )
        for name in names
    ]


def picture(known: InMemoryThreads) -> dict[str, object]:
    return {name: state.to_document() for name, state in known.threads.items()}


@settings(max_examples=300, deadline=None)
@given(mails=some_messages(), data=st.data())
@pytest.mark.requirement("R-305")
def test_any_order_any_partition_and_any_duplication_give_the_same_threads(
    mails: list[ParsedMail], data: st.DataObject
) -> None:
    expected = picture(threads_of(mails))
    again = data.draw(st.lists(st.sampled_from(mails), max_size=6), label="again")
    shuffled = data.draw(st.permutations([*mails, *again]), label="order")
    cuts = sorted(data.draw(st.sets(st.integers(0, len(shuffled)), max_size=4), label="cuts"))
    bounds = [0, *cuts, len(shuffled)]
    archives = [shuffled[a:b] for a, b in pairwise(bounds)]
    assert picture(threads_of(*archives)) == expected


@settings(max_examples=200, deadline=None)
@given(mails=some_messages(), data=st.data())
def test_following_the_moves_leads_every_message_to_its_thread(
    mails: list[ParsedMail], data: st.DataObject
) -> None:
    """A stage stores assignments, and moves the messages that now have another thread."""
    known = InMemoryThreads()
    home: dict[str, str] = {}
    for one in data.draw(st.permutations(mails)):
        result = assign([one], known)
        known.apply(result)
        home |= {name: new for name, (_, new) in result.moved.items()} | result.assignments
    assert home == {name: thread for thread, state in known.threads.items() for name in state.present}


def test_a_reply_that_lost_its_headers_is_marked_and_goes_where_its_answers_say() -> None:
    mails = [
        message("<a>", subject="[PATCH 0/2] Two fixes"),
        message("<b>", subject="Re: [PATCH 1/2] Not here", day=3),
        message("<c>", ["<a>", "<b>"], subject="Re: [PATCH 1/2] Not here", day=4),
    ]
    known = threads_of(mails)
    assert groups(known) == [["<a>", "<b>", "<c>"]]
    members = known.threads[thread_id("<a>")].members
    assert {one: member.via for one, member in members.items()} == {"<a>": "", "<b>": "subject", "<c>": ""}


def test_no_answer_moves_a_mail_that_begins_a_thread() -> None:
    honest = [message("<a>", subject="A proposal"), message("<b>", ["<a>"], subject="Re: A proposal", day=1)]
    forged = message("<f>", ["<evil>", "<a>"], subject="Re: A proposal", day=2)
    assert groups(threads_of([message("<evil>")], honest, [forged])) == [["<a>", "<b>"], ["<evil>", "<f>"]]


SUPPLIED = [
    message("<m>", ["<a>"], subject="Re: Rename it", day=2),
    message("<m>", ["<a>", "<b>"], subject="Re: A proposal", day=2),
    message("<m>", ["<b>"], subject="Rename it", day=2),
]


@pytest.mark.parametrize("supplied", SUPPLIED)
def test_a_mail_in_place_of_a_missing_one_carries_no_answers_into_another_thread(
    supplied: ParsedMail,
) -> None:
    honest = [message("<a>", subject="A proposal"), message("<b>", ["<a>"], subject="Re: A proposal", day=1)]
    answers = [
        message("<c>", ["<m>"], subject="Re: Rename it", day=3),
        message("<d>", parent="<m>", subject="Re: Rename it", day=4),
        message("<e>", ["<m>", "<c>"], subject="Re: Rename it", day=5),
    ]
    expected = [["<a>", "<b>", "<m>"], ["<c>", "<d>", "<e>"]]
    for order in (
        [honest, answers, [supplied]],
        [[supplied], answers, honest],
        [answers, honest, [supplied]],
    ):
        assert groups(threads_of(*order)) == expected


@pytest.mark.parametrize("supplied", [*SUPPLIED, message("<m>", subject="Rename it", day=2)])
def test_a_mail_in_place_of_a_missing_answer_takes_none_of_its_answers_away(supplied: ParsedMail) -> None:
    honest = [
        message("<r>", subject="The tool"),
        message("<n>", ["<r>", "<m>"], parent="<m>", subject="Re: The tool", day=3),
    ]
    others = [message("<a>", subject="A proposal"), message("<b>", ["<a>"], subject="Re: A proposal", day=1)]
    for order in ([honest, others, [supplied]], [[supplied], others, honest]):
        assert ["<n>", "<r>"] in groups(threads_of(*order))
