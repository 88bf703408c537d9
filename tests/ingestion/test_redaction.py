"""Redacted archives: hidden mail is removed, everything else stays byte for byte, and a repeat changes nothing."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from shared.core.ids import message_key
from shared.ingestion.archive_members import open_members
from shared.ingestion.redaction import (
    SuppressionList,
    quotable_lines,
    quoted_lines,
    redact,
    suppression_hash,
)
from shared.ingestion.unpacked_streams import UnpackLimits
from shared.mail.models import ParsedMail
from shared.mail.parse import parse_archive
from tests.stages.mail_in import mail

SECRET = "What nobody may ever read again stands in this line."
MAILS = [
    mail(0, subject="A plan", body="The first one."),
    mail(1, parent=0, body=SECRET),
    mail(2, parent=1, body=f"Bo wrote:\n> {SECRET}\n\nI do not agree."),
]
MBOX = b"".join(MAILS)


def key(number: int) -> str:
    return message_key(f"<m{number}@example.org>")


def parsed(path: Path) -> list[ParsedMail]:
    return [
        one
        for member in open_members(path)
        for one in parse_archive(member.stream)
        if isinstance(one, ParsedMail)
    ]


def in_tar(*contents: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for number, content in enumerate(contents):
            info = tarfile.TarInfo(f"{number}.eml")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def eml(content: bytes) -> bytes:
    return content.partition(b"\n")[2]


def in_mmdf(*contents: bytes) -> bytes:
    mark = b"\x01\x01\x01\x01\n"
    return b"".join(mark + content + mark for content in contents)


@pytest.mark.parametrize(
    "content",
    [
        MBOX,
        gzip.compress(MBOX),
        in_tar(*map(eml, MAILS)),
        in_tar(MAILS[0], MBOX[len(MAILS[0]) :]),
        in_mmdf(*map(eml, MAILS)),
    ],
    ids=["mbox", "gzip", "tar of mails", "tar of mailboxes", "mmdf"],
)
def test_a_mail_leaves_a_stub_in_its_place(tmp_path: Path, content: bytes) -> None:
    path, target, again = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    path.write_bytes(content)
    hidden, limits = SuppressionList(tombstones={key(1)}), UnpackLimits()
    found = redact(path, target, hidden, limits)
    assert (found.erased, found.left) == (1, 3)
    before, after = parsed(path), parsed(target)
    assert [one.message_id for one in after] == [one.message_id for one in before]
    stub = after[1]
    assert (stub.body_raw.strip(), stub.sender.email, stub.subject) == ("", "", "")
    assert stub.in_reply_to == ["<m0@example.org>"]
    assert stub.date == before[1].date
    assert not target.read_bytes().count(b"bo@example.org")
    for number in (0, 2):
        assert after[number].body_raw.strip() == before[number].body_raw.strip()
        assert after[number].sender == before[number].sender
    assert redact(target, again, hidden, limits).erased == 0
    assert not again.exists()


def test_nothing_stays_of_what_leaves_no_stub(tmp_path: Path) -> None:
    path, target = tmp_path / "a", tmp_path / "b"
    path.write_bytes(MBOX)
    found = redact(path, target, SuppressionList(dropped={key(1)}), UnpackLimits())
    assert (found.erased, found.left) == (1, 2)
    before, after = parsed(path), parsed(target)
    assert [one.body_raw.strip() for one in after] == [before[n].body_raw.strip() for n in (0, 2)]
    assert b"bo@example.org" not in target.read_bytes()
    assert redact(target, tmp_path / "c", SuppressionList(dropped={key(1)}), UnpackLimits()).erased == 0


def test_a_person_is_known_by_their_address_and_by_what_others_quote(tmp_path: Path) -> None:
    path, target = tmp_path / "a", tmp_path / "b"
    path.write_bytes(MBOX)
    by_address = SuppressionList(people={suppression_hash("BO@example.org")})
    assert redact(path, target, by_address, UnpackLimits()).erased == 1
    assert SECRET.encode() in target.read_bytes()  # another message quotes it
    with_quotes = SuppressionList(people=by_address.people, quotes=set(quotable_lines(SECRET)))
    assert redact(path, target, with_quotes, UnpackLimits()).erased == 2
    assert SECRET.encode() not in target.read_bytes()


def test_nothing_is_written_where_nothing_is_hidden(tmp_path: Path) -> None:
    path, target = tmp_path / "a", tmp_path / "b"
    path.write_bytes(MBOX)
    found = redact(path, target, SuppressionList(tombstones={key(9)}), UnpackLimits())
    assert (found.erased, found.left, target.exists()) == (0, 3, False)


def test_a_short_line_is_nobodys_own() -> None:
    assert list(quotable_lines("I agree.\n> quoted by the writer themselves, at some length\n+1")) == []
    assert list(quoted_lines("> I agree.\nnot quoted at all, though it is long enough")) == []
    assert list(quoted_lines(f">> {SECRET}")) == list(quotable_lines(f"  {SECRET.upper()} "))
