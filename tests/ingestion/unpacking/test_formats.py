"""The format and the members of a file."""

import bz2
import gzip
import lzma
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from shared.ingestion.archive_members import SkippedMember, check_archive, detect_format, open_members
from shared.ingestion.errors import ArchiveError, CorruptArchiveError, UnsupportedArchiveError
from shared.ingestion.unpacked_streams import UnpackLimits, safe_filename
from shared.mail.mbox import read_archive
from shared.mail.models import RawMessage
from tests.ingestion.unpacking.files import eml, mbox, saved, tar_bytes, zip_bytes
from tests.support.mail_data import WHY_SKIPPED, data_folder

BOXES = {"lists/2026-01.mbox": mbox("one", "two"), "lists/2026-02.mbox": mbox("three")}
MAILDIR = {"list/cur/1.host:2,S": eml("one"), "list/new/2.host": eml("two"), "list/dovecot-uidlist": b"3 V1"}


def short(value: object) -> str:
    """Shorten bytes. Packed bytes hold the time of day, but workers need the same test ids."""
    return f"{len(value)}bytes" if isinstance(value, bytes) else str(value)


def contents(path: Path, limits: UnpackLimits | None = None) -> dict[str, bytes]:
    return {member.name: member.stream.read() for member in open_members(path, limits)}


def skipped(path: Path) -> list[SkippedMember]:
    notes: list[SkippedMember] = []
    for member in open_members(path, on_skip=notes.append):
        member.stream.read()
    return notes


@pytest.mark.parametrize(
    ("content", "expected", "messages"),
    [
        (mbox("one", "two"), "mbox", 2),
        (eml("one"), "eml", 1),
        (b"\n\n" + mbox("one"), "mbox", 1),
        (gzip.compress(mbox("one", "two")), "mbox.gz", 2),
        (gzip.compress(mbox("one")) + gzip.compress(mbox("two")), "mbox.gz", 2),
        (gzip.compress(mbox("one")) + bytes(512), "mbox.gz", 1),
        (bz2.compress(mbox("one")), "mbox.bz2", 1),
        (lzma.compress(mbox("one")), "mbox.xz", 1),
        (gzip.compress(eml("one")), "eml.gz", 1),
        (zip_bytes(BOXES), "zip", 3),
        (zip_bytes(BOXES, zipfile.ZIP_STORED), "zip", 3),
        (zip_bytes({"a.eml": eml("one"), "b.eml": eml("two")}), "zip", 2),
        (zip_bytes({"a.mbox.gz": gzip.compress(mbox("one", "two"))}), "zip", 2),
        (tar_bytes(BOXES), "tar", 3),
        (tar_bytes(BOXES, format_=tarfile.USTAR_FORMAT), "tar", 3),
        (tar_bytes(BOXES, format_=tarfile.GNU_FORMAT), "tar", 3),
        (tar_bytes(BOXES, "w:gz"), "tar.gz", 3),
        (tar_bytes(BOXES, "w:bz2"), "tar.bz2", 3),
        (tar_bytes(BOXES, "w:xz"), "tar.xz", 3),
        (tar_bytes({"a.eml": eml("one"), "b.mbox.gz": gzip.compress(mbox("two", "three"))}), "tar", 3),
        (tar_bytes(MAILDIR), "maildir.tar", 2),
        (tar_bytes(MAILDIR, "w:gz"), "maildir.tar.gz", 2),
        (tar_bytes({"x/" * 120 + "long.mbox": mbox("one")}), "tar", 1),
        (tar_bytes({"x/" * 120 + "long.mbox": mbox("one")}, format_=tarfile.GNU_FORMAT), "tar", 1),
    ],
    ids=short,
)
def test_the_content_tells_the_format_whatever_the_name_says(
    tmp_path: Path, content: bytes, expected: str, messages: int
) -> None:
    path = saved(tmp_path, content, "report.pdf")
    assert str(detect_format(path)) == expected
    assert str(check_archive(path)) == expected
    read = [m for member in open_members(path) for m in read_archive(member.stream)]
    assert len(read) == messages
    assert all(isinstance(message, RawMessage) for message in read)


@pytest.mark.parametrize("name", ["git-2024-01.mbox.gz", "mailbox_mmdf", "mailbox_year", "3gpp-evs.mbox"])
def test_the_real_archives_are_known(name: str) -> None:
    folder = data_folder()
    if folder is None:
        pytest.skip(WHY_SKIPPED)
    assert str(detect_format(folder / name)) == ("mbox.gz" if name.endswith(".gz") else "mbox")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"<!DOCTYPE html><p>From the archive", "web page"),
        (b"%PDF-1.7 binary", "not a mail archive"),
        (b"\x00" * 2000, "not a mail archive"),
        (b"7z\xbc\xaf\x27\x1c rest", "7-Zip"),
        (b"Rar!\x1a\x07\x01\x00", "RAR"),
        (b"\x28\xb5\x2f\xfd rest", "Zstandard"),
        (gzip.compress(b"just text"), "not a mail archive"),
        (gzip.compress(gzip.compress(mbox("one"))), "archive inside"),
        (gzip.compress(zip_bytes(BOXES)), "archive inside"),
        (zip_bytes({"readme.txt": b"hello"}), "no mail was found in the zip"),
        (tar_bytes({"readme.txt": b"hello"}), "no mail was found in the tar"),
        (zip_bytes({}), "no mail was found in the zip"),
        (zip_bytes({"inner.zip": zip_bytes(BOXES)}), "no mail was found in the zip"),
        (zip_bytes(BOXES, zipfile.ZIP_LZMA), "use deflate"),
        (zip_bytes(BOXES, zipfile.ZIP_BZIP2), "use deflate"),
    ],
    ids=short,
)
def test_what_is_no_archive_of_mail_is_refused_with_what_it_is(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(UnsupportedArchiveError, match=message):
        check_archive(saved(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(mbox("one") * 50)[:-20],
        bz2.compress(mbox("one") * 50)[:-20],
        lzma.compress(mbox("one") * 50)[:-20],
        gzip.compress(mbox("one"))[:15] + b"\xff\xff\xff\xff\xff\xff",
        tar_bytes({"a": mbox("one") * 100})[:5000],
        tar_bytes({"a": mbox("one"), "b": mbox("two")})[:1024] + b"\x01" * 512,
        zip_bytes(BOXES)[:-30],
        zip_bytes(BOXES).replace(b"lists/2026-01", b"lists/XXXX-XX", 1),
    ],
    ids=short,
)
def test_a_damaged_archive_is_told_and_not_read_as_far_as_it_goes(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CorruptArchiveError, match="fetch"):
        contents(saved(tmp_path, content))


def flipped(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 0x55]) + content[position + 1 :]


def archives() -> Iterator[bytes]:
    yield zip_bytes(BOXES)
    yield tar_bytes(BOXES)
    yield tar_bytes(MAILDIR, "w:gz")
    yield gzip.compress(mbox("one", "two"))


@pytest.mark.parametrize("content", list(archives()), ids=["zip", "tar", "maildir", "gz"])
def test_no_flipped_bit_and_no_cut_gives_anything_but_members_or_an_archive_error(
    tmp_path: Path, content: bytes
) -> None:
    step = max(1, len(content) // 100)
    for position in range(0, len(content), step):
        for broken in (flipped(content, position), content[:position]):
            with suppress(ArchiveError):
                contents(saved(tmp_path, broken))


def test_an_encrypted_zip_says_which_member_and_what_to_do(tmp_path: Path) -> None:
    content = bytearray(zip_bytes({"a.mbox": mbox("one")}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    with pytest.raises(UnsupportedArchiveError, match=r"a\.mbox: it is encrypted; pack it without"):
        check_archive(saved(tmp_path, bytes(content)))


def test_what_is_not_mail_is_passed_over_with_the_reason(tmp_path: Path) -> None:
    files = {
        "list.mbox": mbox("one"),
        "README": b"about this list",
        "empty.mbox": b"",
        "more.zip": zip_bytes(BOXES),
        "more.tar.gz": tar_bytes(BOXES, "w:gz"),
        "__MACOSX/._list.mbox": mbox("one"),
    }
    for content in (zip_bytes(files), tar_bytes(files)):
        notes = {note.name: note.reason for note in skipped(saved(tmp_path, content))}
        assert set(notes) == set(files) - {"list.mbox"}
        assert notes["README"] == "it is not mail"
        assert notes["empty.mbox"] == "it is empty"
        assert "upload it separately" in notes["more.zip"]
        assert "upload it separately" in notes["more.tar.gz"]


def test_links_and_devices_in_a_tar_are_passed_over_with_a_note(tmp_path: Path) -> None:
    odd = []
    for name, kind, size in (
        ("link", tarfile.SYMTYPE, 0),
        ("hard", tarfile.LNKTYPE, 0),
        ("null", tarfile.CHRTYPE, 0),
        ("disk", tarfile.BLKTYPE, 0),
        ("pipe", tarfile.FIFOTYPE, 0),
        ("folder", tarfile.DIRTYPE, 0),
    ):
        info = tarfile.TarInfo(name)
        info.type, info.size, info.linkname = kind, size, "/etc/passwd"
        odd.append(info)
    path = saved(tmp_path, tar_bytes({"a.mbox": mbox("one")}, "w", *odd))
    assert contents(path) == {"a.mbox": mbox("one")}
    assert {note.name for note in skipped(path)} == {"link", "hard", "null", "disk", "pipe"}


def test_a_symbolic_link_in_a_zip_is_passed_over_with_a_note(tmp_path: Path) -> None:
    target = tmp_path / "links.zip"
    with zipfile.ZipFile(target, "w") as archive:
        link = zipfile.ZipInfo("link.mbox")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("a.mbox", mbox("one"))
    assert [note.reason for note in skipped(target)] == ["a symbolic link is not read"]


@pytest.mark.requirement("R-307")
def test_names_are_shown_and_never_used_as_paths(tmp_path: Path) -> None:
    hostile = [
        "../../etc/cron.d/x",
        "/etc/passwd",
        "C:\\windows\\x",
        "a\x1b[31m\nb",
        "\u202egnp.mbox",
        "n" * 5000,
    ]
    inside = tmp_path / "inside"
    inside.mkdir()
    for make in (tar_bytes, zip_bytes):
        path = saved(inside, make({name: mbox("one") for name in hostile}))
        names = [member.name for member in open_members(path)]
        assert len(names) == len(hostile)
        assert all(name.isprintable() and len(name) <= 200 for name in names)
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "file"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2026-01.mbox", "2026-01.mbox"),
        ("../../etc/passwd", "passwd"),
        ("C:\\mail\\list archive.mbox", "list_archive.mbox"),
        ("..", "archive"),
        (".hidden", "hidden"),
        ("", "archive"),
        ("a/b/", "archive"),
        ("über 100%.mbox", "uber_100_.mbox"),
        ("日本.mbox", "mbox"),
        ("a\x00b\r\nc?d#e", "a_b_c_d_e"),
        ("x" * 500 + ".mbox.gz", "x" * 92 + ".mbox.gz"),
    ],
)
def test_a_file_name_is_made_safe_for_a_blob(name: str, expected: str) -> None:
    assert safe_filename(name) == expected
