"""Thousands of short replies, which anyone can send, never make a thread too large to store."""

import json
from collections.abc import Iterable

from shared.core.ids import thread_id
from shared.threading.assignment import BY_LIMIT, ReplyLinks, ThreadState
from shared.threading.limit import MAX_THREAD_BYTES, assign_within_limit

SLICE, REPLIES, SOURCE = 2000, 12_000, "list"
ROOT = thread_id("<root@example.org>", SOURCE)
Known = dict[str, ThreadState]


def reply(number: int, *ancestors: str) -> ReplyLinks:
    return ReplyLinks(f"<reply-{number:05}@example.org>", [*ancestors] or ["<root@example.org>"], [])


def take_in(known: Known, links: Iterable[ReplyLinks]) -> Known:
    mails = list(links)
    for start in range(0, len(mails), SLICE):
        result = assign_within_limit(mails[start : start + SLICE], known, SOURCE)
        gone = {merge.thread_id for merge in result.merges}
        known = {name: state for name, state in known.items() if name not in gone} | result.threads
    return known


def size(state: ThreadState) -> int:
    return len(json.dumps(state.to_document()).encode())


def flood() -> Known:
    root = ReplyLinks("<root@example.org>", [], [])
    return take_in({}, [root, *(reply(number) for number in range(REPLIES))])


def test_a_thread_takes_replies_up_to_its_limit_and_the_others_begin_threads() -> None:
    known = flood()
    full = known[ROOT]
    assert 0.4 * MAX_THREAD_BYTES < size(full) <= MAX_THREAD_BYTES
    alone = [state for name, state in known.items() if name != ROOT]
    assert len(full.present) + len(alone) == REPLIES + 1
    assert {member.via for state in alone for member in state.members.values()} == {BY_LIMIT}


def test_the_same_mails_again_change_nothing() -> None:
    known = flood()
    mails = [ReplyLinks("<root@example.org>", [], []), *(reply(number) for number in range(REPLIES))]
    assert take_in(known, mails) == known


def test_an_answer_to_a_mail_beyond_the_limit_is_in_the_thread_of_that() -> None:
    known = flood()
    beyond = f"<reply-{REPLIES - 1:05}@example.org>"
    known = take_in(known, [reply(REPLIES, beyond, "<root@example.org>")])
    assert len(known[thread_id(beyond, SOURCE)].present) == 2


def test_a_mail_joins_two_threads_only_within_the_limit() -> None:
    known = take_in(flood(), [ReplyLinks("<other@example.org>", [], [])])
    known = take_in(known, (reply(number, "<other@example.org>") for number in range(20_000, 26_000)))
    late = ReplyLinks("<late@example.org>", ["<root@example.org>"], [])
    waiting = reply(30_000, "<late@example.org>", "<other@example.org>")
    known = take_in(known, [waiting, late])
    assert all(size(state) <= MAX_THREAD_BYTES for state in known.values())
    assert ROOT in known
    assert thread_id("<other@example.org>", SOURCE) in known


def test_ids_that_are_long_in_json_count_as_long_as_they_are() -> None:
    long = "\N{GRINNING FACE}" * 400
    mails = [ReplyLinks(f"<{number}-{long}@x>", ["<root@example.org>"], []) for number in range(400)]
    known = take_in({}, [ReplyLinks("<root@example.org>", [], []), *mails])
    assert size(known[ROOT]) <= MAX_THREAD_BYTES
    assert len(known) > 1
