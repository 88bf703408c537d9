"""Properties of all real archives. Skipped on machines without them."""

import dataclasses
import email
import email.message
import email.policy
import io
import random
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from shared.mail.mbox import read_archive
from shared.mail.models import ParsedMail, RawMessage, Skipped
from shared.mail.parse import parse_archive, parse_message
from tests.support.mail_data import WHY_SKIPPED, archives, data_folder, open_archive
from tests.support.threads import InMemoryThreads, assign

pytestmark = pytest.mark.skipif(data_folder() is None, reason=WHY_SKIPPED)
COUNTS = {
    "3gpp-evs.mbox": 50,
    "git-2023-12.mbox.gz": 686,
    "git-2024-01.mbox.gz": 1513,
    "latin1.mbox": 1,
    "mailbox_mmdf": 5,
    "mailbox_year": 4,
    "numpy-discussion-2001-11.mbox": 164,
    "windows1252.mbox": 1,
}


def months() -> list[list[ParsedMail]]:
    return [list(messages_of(path)) for path in archives() if path.name.startswith("git-")]


@cache
def messages_of(path: Path) -> tuple[ParsedMail, ...]:
    with open_archive(path) as stream:
        return tuple(message for message in parse_archive(stream) if not isinstance(message, Skipped))


@pytest.mark.parametrize("path", list(archives()), ids=lambda path: path.name)
def test_every_message_is_found_and_none_is_skipped(path: Path) -> None:
    with open_archive(path) as stream:
        found = list(parse_archive(stream))
    assert [one for one in found if isinstance(one, Skipped)] == []
    assert len(found) == COUNTS[path.name]


@pytest.mark.parametrize("path", list(archives()), ids=lambda path: path.name)
@pytest.mark.requirement("R-304")
def test_segments_tile_every_body_and_every_field_can_be_stored(path: Path) -> None:
    for message in messages_of(path):
        ends = [0, *(segment.end for segment in message.segments)]
        assert ends[-1] == len(message.body_raw)
        assert [segment.start for segment in message.segments] == ends[:-1]
        repr(dataclasses.astuple(message)).encode("utf-8")


def compat32(raw: RawMessage) -> email.message.Message:
    return email.message_from_bytes(raw.data, policy=email.policy.compat32)


@pytest.mark.parametrize("path", list(archives()), ids=lambda path: path.name)
def test_the_standard_library_reads_the_same(path: Path) -> None:
    """compat32 is the oracle for ids, dates and plain text, if it has an answer."""
    with open_archive(path) as stream:
        raws = [raw for raw in read_archive(stream) if isinstance(raw, RawMessage)]
    assert raws
    for raw in raws:
        ours, theirs = parse_message(raw), compat32(raw)
        assert ours.message_id == str(theirs["message-id"]).strip()
        if theirs["references"]:
            assert ours.references == list(dict.fromkeys(str(theirs["references"]).split()))
        if not theirs.is_multipart() and theirs.get_content_type() == "text/plain":
            assert comparable(ours.body_raw) == comparable(oracle_text(theirs))


def oracle_text(message: email.message.Message) -> str:
    payload = message.get_payload(decode=True)
    assert isinstance(payload, bytes)
    for charset in ("utf-8", message.get_content_charset("cp1252"), "latin-1"):
        try:
            return payload.decode(charset)
        except (UnicodeDecodeError, LookupError):
            continue
    raise AssertionError("latin-1 decodes everything")


def comparable(text: str) -> list[str]:
    """Return the words alone: flowed text is joined differently, with quote marks and stuffing."""
    return text.replace(">", " ").replace("\x00", "\ufffd").split()


def closure(mails: Iterable[ParsedMail]) -> dict[str, str]:
    """Return the components of the threading headers, by a simple union-find."""
    parent: dict[str, str] = {}

    def find(one: str) -> str:
        while parent.setdefault(one, one) != one:
            one = parent[one]
        return one

    mails = list(mails)
    for mail in mails:
        for other in (*mail.references, *mail.in_reply_to):
            parent[find(other)] = find(mail.node)
    return {mail.node: find(mail.node) for mail in mails}


def month_by_month(archives_in_order: list[list[ParsedMail]]) -> dict[str, str]:
    known = InMemoryThreads()
    for archive in archives_in_order:
        known.apply(assign(archive, known))
    return {name: thread for thread, state in known.threads.items() for name in state.present}


def pairwise_f1(truth: dict[str, str], found: dict[str, str]) -> float:
    def pairs(labels: Iterable[object]) -> int:
        return sum(count * (count - 1) // 2 for count in Counter(labels).values())

    both = pairs((truth[one], found[one]) for one in truth)
    return 2 * both / (pairs(truth.values()) + pairs(found[one] for one in truth))


def test_threads_of_the_git_archives_are_those_of_their_headers() -> None:
    found = months()
    truth = closure(mail for month in found for mail in month)
    assert pairwise_f1(truth, month_by_month(found)) >= 0.996
    assert month_by_month(found[::-1]) == month_by_month(found)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_threads_survive_the_loss_of_a_fifth_of_the_headers(seed: int) -> None:
    found = months()
    truth = closure(mail for month in found for mail in month)
    lost = set(random.Random(seed).sample(sorted(truth), len(truth) // 5))
    damaged = [
        [
            dataclasses.replace(one, references=[], in_reply_to=[]) if one.node in lost else one
            for one in month
        ]
        for month in found
    ]
    assert pairwise_f1(truth, closure(mail for month in damaged for mail in month)) < 0.9
    assert pairwise_f1(truth, month_by_month(damaged)) >= 0.98
    assert month_by_month(damaged[::-1]) == month_by_month(damaged)


def test_a_conversation_of_which_some_mails_are_missing_is_one_thread() -> None:
    """numpy-discussion, November 2001: answers name messages that the list never had, or none."""
    (path,) = [path for path in archives() if path.name.startswith("numpy")]
    mails = {mail.node: mail for mail in messages_of(path)}
    conversation = [mail.node for mail in mails.values() if "Re-implementation of Python" in mail.subject]
    assert len(conversation) == 14
    known = InMemoryThreads()
    known.apply(assign(mails.values(), known))
    (state,) = [state for state in known.threads.values() if conversation[0] in state.members]
    assert set(conversation) <= set(state.members)
    marked = {one for one, member in state.members.items() if member.via}
    assert len(marked) == 7
    assert len({closure(mails.values())[one] for one in conversation}) == 8  # by headers alone


def test_an_archive_read_in_small_pieces_gives_the_same_messages() -> None:
    path = next(path for path in archives() if path.name.startswith("numpy"))
    data = path.read_bytes()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or 1, 1000))

    assert list(read_archive(Slow(data))) == list(read_archive(io.BytesIO(data)))
