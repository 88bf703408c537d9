"""The boundaries between messages of an archive."""

import io
from collections.abc import Iterator

import pytest

from shared.mail.mbox import read_archive
from shared.mail.models import EmptyArchiveError, Limits, NotAMailboxError, RawMessage, Skipped
from shared.mail.parse import parse_archive

FROM = b"From ann@example.org Mon Feb  5 10:00:00 2024\n"
HEADERS = b"From: ann@example.org\nMessage-ID: <%d@x>\nSubject: s\n"


def one(number: int, body: bytes = b"Text.\n", extra: bytes = b"") -> bytes:
    return FROM + HEADERS % number + extra + b"\n" + body + b"\n"


def split(data: bytes, limits: Limits | None = None) -> list[RawMessage | Skipped]:
    return list(read_archive(io.BytesIO(data), limits))


def bodies(data: bytes) -> list[bytes]:
    return [raw.data.split(b"\n\n", 1)[1] for raw in split(data) if isinstance(raw, RawMessage)]


class Dribble:
    """A stream that gives a few bytes at a time, as a network does."""

    def __init__(self, data: bytes, step: int) -> None:
        self._stream = io.BytesIO(data)
        self._step = step

    def read(self, size: int, /) -> bytes:
        return self._stream.read(min(size, self._step))


def test_messages_are_split_at_from_lines() -> None:
    assert bodies(one(1, b"One.\n") + one(2, b"Two.\n")) == [b"One.\n", b"Two.\n"]


def test_offsets_and_indexes_say_where_a_message_stood() -> None:
    data = one(1) + one(2)
    found = split(data)
    assert [raw.index for raw in found] == [0, 1]
    for raw in found:
        assert isinstance(raw, RawMessage)
        assert data[raw.offset :].startswith(raw.data)


@pytest.mark.parametrize("step", [1, 7, 100, 4096])
def test_the_size_of_reads_does_not_matter(step: int) -> None:
    data = b"".join(one(number, b"Body %d.\n" % number * 50) for number in range(20))
    assert list(read_archive(Dribble(data, step))) == split(data)


@pytest.mark.parametrize(
    "line",
    [
        b"From the beginning it was wrong.\n",
        b"From 1999 on: nothing.\n",
        b"From ann at 10:00 in 2024 I went home.\n",
        b"From 1234567890123456789012345678901234567890 Mon Sep 17 00:00:00 2001\nFrom: Bob <b@x>\n",
    ],
)
def test_a_from_line_in_a_body_does_not_split(line: bytes) -> None:
    assert bodies(one(1, b"Text.\n\n" + line) + one(2)) == [b"Text.\n\n" + line, b"Text.\n"]


@pytest.mark.parametrize(
    "line",
    [
        b"From ann at example.org  Mon Feb  5 10:00:00 2024\n",
        b"From MAILER-DAEMON Mon Feb 05 10:00:00 2024\n",
        b"From - Mon Feb 05 10:00:00 2024\n",
        b"From 1234@xxx Mon Feb 05 10:00:00 +0000 2024\n",
        b"From ann@x Mon Feb  5 10:00:00 EST 2024\n",
        b"From ann@x Mon Feb  5 10:00 2024\n",
        b"From ann@x Mon Feb  5 10:00:00 2024 remote from host\n",
        b"From ann@x Mon Feb  5 10:00:00 2024\r\n",
    ],
)
def test_every_kind_of_dated_from_line_splits(line: bytes) -> None:
    data = one(1) + line + HEADERS % 2 + b"\nTwo.\n"
    assert len(split(data)) == 2


def test_from_lines_without_dates_split_after_a_blank_line_if_the_archive_has_no_others() -> None:
    line = b"From ann@example.org\n"
    data = b"".join(line + HEADERS % number + b"\nText.\n\n" for number in range(3))
    assert len(split(data)) == 3


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b">From here on\n", b"From here on\n"),
        (b">>From here on\n", b">From here on\n"),
        (b"> From here on\n", b"> From here on\n"),
        (b">quoted\n>From here on\n>and on\n", b">quoted\n>From here on\n>and on\n"),
        (b"> quoted\n>From here on\n", b"> quoted\nFrom here on\n"),
    ],
)
def test_quoted_from_lines_are_unquoted_but_quotes_are_not(written: bytes, meant: bytes) -> None:
    assert bodies(one(1, b"Text.\n" + written)) == [b"Text.\n" + meant]


def declared(number: int, body: bytes) -> bytes:
    return one(number, body, b"Content-Length: %d\n" % len(body))


INSIDE = b"Text.\n\n" + FROM + b"Subject: inside\n\nMore.\n"


def test_a_right_content_length_is_believed_where_every_mail_declares_one() -> None:
    few = b"".join(declared(number, b"One.\n") for number in range(4))
    assert bodies(few + declared(5, INSIDE) + declared(6, b"Six.\n")) == [*[b"One.\n"] * 4, INSIDE, b"Six.\n"]


def test_a_content_length_swallows_nobody_whose_mail_declares_none() -> None:
    swallowed = one(2, b"Two.\n") + one(3, b"Three.\n")
    length = len(b"One.\n\n") + len(swallowed) - 1
    data = one(1, b"One.\n", b"Content-Length: %d\n" % length) + swallowed + one(4)
    assert bodies(data) == [b"One.\n", b"Two.\n", b"Three.\n", b"Text.\n"]
    at_the_end = one(0) + one(1, b"One.\n", b"Content-Length: %d\n" % length) + swallowed
    assert bodies(at_the_end) == [b"Text.\n", b"One.\n", b"Two.\n", b"Three.\n"]


def test_a_from_line_inside_a_paragraph_starts_no_mail() -> None:
    body = b"As I said:\n" + FROM + b"From: Ann <ann@example.org>\nit came so.\n"
    assert bodies(one(1) + one(2, body) + one(3)) == [b"Text.\n", body, b"Text.\n"]


def test_an_archive_without_blank_lines_before_its_from_lines_is_cut_at_them() -> None:
    data = b"".join(FROM + HEADERS % number + b"\nText.\n" for number in range(5))
    assert bodies(data) == [b"Text.\n"] * 5


def test_a_wrong_content_length_is_not_believed() -> None:
    data = one(1, b"One.\n", b"Content-Length: 99999\n") + one(2, b"Two.\n", b"Content-Length: 1\n") + one(3)
    assert bodies(data) == [b"One.\n", b"Two.\n", b"Text.\n"]


@pytest.mark.requirement("R-303")
def test_an_mmdf_mailbox_is_read() -> None:
    rule = b"\x01\x01\x01\x01\n"
    data = b"".join(rule + HEADERS % number + b"\nText.\n" + rule for number in range(3))
    assert len(split(data)) == 3


def test_an_export_with_years_as_separators_is_read() -> None:
    data = b"".join(b"\n2005\n" + HEADERS % number + b"\nIn\n2004\nall was well.\n\n" for number in range(3))
    found = split(data)
    assert len(found) == 3
    assert all(isinstance(raw, RawMessage) for raw in found)


@pytest.mark.requirement("R-303")
def test_a_listserv_notebook_is_read() -> None:
    rule = b"=" * 73 + b"\n"
    data = b"".join(rule + HEADERS % number + b"\nA title\n=======\n" for number in range(3))
    assert len(split(data)) == 3


def test_windows_line_ends_do_not_matter() -> None:
    data = (one(1) + one(2)).replace(b"\n", b"\r\n")
    assert (
        len([message for message in parse_archive(io.BytesIO(data)) if not isinstance(message, Skipped)]) == 2
    )


def test_a_byte_order_mark_and_blank_lines_before_the_first_message_do_not_matter() -> None:
    assert len(split(b"\xef\xbb\xbf\n\n" + one(1) + one(2))) == 2


def test_text_before_the_first_from_line_is_recorded() -> None:
    found = split(b"This archive was exported by a tool.\n\n" + one(1))
    assert found[0] == Skipped(0, 0, 38, "text before the first separator")
    assert isinstance(found[1], RawMessage)


@pytest.mark.parametrize("data", [b"", b"\n\n  \r\n", b"\xef\xbb\xbf"])
def test_an_empty_archive_is_a_clear_failure(data: bytes) -> None:
    with pytest.raises(EmptyArchiveError, match="only white space"):
        split(data)


@pytest.mark.parametrize(
    "data",
    [
        b"<html><body>404 Not Found</body></html>",
        b"PK\x03\x04 zip",
        b"a" * 5_000_000,
    ],
)
def test_an_archive_without_from_lines_is_a_clear_failure(data: bytes) -> None:
    with pytest.raises(NotAMailboxError, match="no From line"):
        split(data)


def test_a_single_eml_is_read_as_an_archive_of_one() -> None:
    found = list(read_archive(io.BytesIO(HEADERS % 1 + b"\nText.\n")))
    assert [raw.data for raw in found if isinstance(raw, RawMessage)] == [HEADERS % 1 + b"\nText.\n"]


@pytest.mark.parametrize("step", [97, 1_000_000])
def test_a_message_over_the_limit_is_recorded_and_skipped_and_the_rest_is_read(step: int) -> None:
    limits = Limits(message_bytes=10_000)
    large = one(2, b"x" * 60 + b"\n" + b"y" * 5_000_000 + b"\n")
    found = list(read_archive(Dribble(one(1) + large + one(3), step), limits))
    assert [type(raw) for raw in found] == [RawMessage, Skipped, RawMessage]
    skipped = found[1]
    assert isinstance(skipped, Skipped)
    assert "limit of 10000 bytes" in skipped.reason
    assert abs(skipped.size - len(large)) < 200
    assert skipped.offset == len(one(1)) + len(FROM)


@pytest.mark.requirement("R-306")
def test_a_message_that_cannot_be_parsed_is_recorded_and_the_rest_is_read() -> None:
    found = list(parse_archive(io.BytesIO(one(1) + FROM + b"X:\n" + one(3))))
    assert len(found) == 3


def test_memory_does_not_grow_with_the_archive() -> None:
    """The reader holds one message and one block, regardless of the archive's length."""

    class Endless:
        def __init__(self, size: int) -> None:
            self.left = size
            self.largest = 0
            self.unit = one(1, b"x" * 70 + b"\n" * 3) * 5_000

        def read(self, size: int, /) -> bytes:
            self.largest = max(self.largest, size)
            self.left -= 1
            return self.unit[:size] if self.left >= 0 else b""

    def held(reader: Iterator[RawMessage | Skipped]) -> int:
        return max(len(reader.gi_frame.f_locals["self"]._window.data) for _ in reader)  # type: ignore[attr-defined]

    assert held(read_archive(Endless(30))) < 4_000_000
