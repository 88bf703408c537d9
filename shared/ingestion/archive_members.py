"""The mailboxes and messages inside an archive file, recognized by their content."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from shared.core.lazy_import import lazy
from shared.ingestion.archive_source import ArchivePath, size_of
from shared.ingestion.errors import UnsupportedArchiveError
from shared.ingestion.tar import BLOCK, EntryKind, is_tar_header, read_tar
from shared.ingestion.unpacked_streams import (
    Compression,
    Inflated,
    Spending,
    UnpackBudget,
    UnpackLimits,
    buffered,
    compression_of,
)
from shared.mail.mbox import EML, BinaryStream, detect
from shared.mail.models import EmptyArchiveError, NotAMailboxError

if TYPE_CHECKING:
    from shared.ingestion import zips
else:
    zips = lazy("shared.ingestion.zips")

PEEK = 64 * 1024
LOOKED_AT = 50
FORMATS_READ = (
    "mbox (also .gz, .bz2, .xz), .eml, zip and tar (also .gz, .bz2, .xz) of mboxes or .eml files,"
    " and a Maildir in a tar"
)
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_OTHER_ARCHIVES = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x1f\x9d": "compress",
    b"LZIP": "lzip",
}


class Container(StrEnum):
    """The kind of file that contains the messages, after decompression."""

    MBOX = "mbox"
    EML = "eml"
    ZIP = "zip"
    TAR = "tar"
    MAILDIR = "maildir.tar"


@dataclass(frozen=True)
class ArchiveFormat:
    container: Container
    compression: Compression | None = None

    def __str__(self) -> str:
        return f"{self.container}.{self.compression}" if self.compression else str(self.container)


def detect_format(path: ArchivePath, limits: UnpackLimits | None = None) -> ArchiveFormat:
    """Return the format of a file. Raise UnsupportedArchiveError with the reason if it is not supported."""
    with path.open("rb") as file:
        beginning = file.read(PEEK)
    compression = compression_of(beginning)
    limits = limits or UnpackLimits()
    if compression is not None:
        with open_plain(path, compression, limits) as (stream, _):
            beginning = buffered(stream).read(PEEK)
        if compression_of(beginning) or beginning.startswith(ZIP_MAGIC):
            raise UnsupportedArchiveError(
                f"it is an archive inside a {compression} file; unpack it and upload what is inside"
            )
    return ArchiveFormat(_container(path, compression, beginning, limits), compression)


@contextmanager
def open_plain(
    path: ArchivePath, compression: Compression | None, limits: UnpackLimits
) -> Iterator[tuple[BinaryStream, UnpackBudget]]:
    """Open the content of the file, decompressed if necessary, within a budget of bytes."""
    budget = UnpackBudget(limits, size_of(path))
    with path.open("rb") as file:
        stream = file if compression is None else Inflated(file, compression, path.name)
        yield Spending(stream, budget, path.name), budget


def detect_mail(beginning: bytes) -> Container | None:
    """Return MBOX or EML for the beginning of a mailbox or a message, or None if it is not mail."""
    try:
        dialect = detect(beginning)
    except (EmptyArchiveError, NotAMailboxError):
        return None
    return Container.EML if dialect is EML else Container.MBOX


def is_in_maildir(name: str) -> bool:
    return PurePosixPath(name).parent.name in {"cur", "new"}


def _container(
    path: ArchivePath, compression: Compression | None, beginning: bytes, limits: UnpackLimits
) -> Container:
    if beginning.startswith(ZIP_MAGIC):
        return Container.ZIP
    if is_tar_header(beginning[:BLOCK]):
        with open_plain(path, compression, limits) as (stream, _):
            for entry in islice(read_tar(stream), LOOKED_AT):  # A Maildir is recognized before any large file
                name = entry.name.rstrip("/")
                if is_in_maildir(name) or PurePosixPath(name).name in {"cur", "new"}:
                    return Container.MAILDIR
                if entry.size > PEEK:
                    break
        return Container.TAR
    if (found := detect_mail(beginning)) is None:
        raise UnsupportedArchiveError(_describe_file(beginning))
    return found


def _describe_file(beginning: bytes) -> str:
    if not beginning.strip():
        return "the file is empty; fetch it again"
    for magic, name in _OTHER_ARCHIVES.items():
        if beginning.startswith(magic):
            return f"it is a {name} archive, which is not supported; supported: {FORMATS_READ}"
    if beginning.lstrip()[:15].lower().startswith((b"<!doctype", b"<html")):
        return "it is a web page, not a mail archive; use the address of the archive itself"
    return f"it is not a mail archive; supported: {FORMATS_READ}"


@dataclass(frozen=True)
class Member:
    """A mailbox or a message. Its stream is valid until the next member is read."""

    name: str
    stream: io.BufferedReader


@dataclass(frozen=True)
class SkippedMember:
    name: str
    reason: str


_Entry = tuple[str, EntryKind, BinaryStream, UnpackBudget]
"""Name, kind and content of a member, and the budget for reading the content."""


def open_members(
    path: ArchivePath,
    limits: UnpackLimits | None = None,
    *,
    on_skip: Callable[[SkippedMember], None] = lambda _: None,
) -> Iterator[Member]:
    """Yield the members of the archive. Raise ArchiveError if it is damaged, too large, or has no mail."""
    limits = limits or UnpackLimits()
    format_ = detect_format(path, limits)
    if format_.container in {Container.MBOX, Container.EML}:
        with open_plain(path, format_.compression, limits) as (stream, _):
            yield Member(path.name, buffered(stream))
        return
    found = 0
    for name, kind, content, budget in _entries(path, format_, limits):
        budget.count_member(name)
        is_file, why_not = kind is EntryKind.FILE, SkippedMember(name, f"a {kind} is not read")
        member = _member(name, content, budget) if is_file else why_not
        if isinstance(member, Member):
            found += 1
            yield member
        elif kind is not EntryKind.FOLDER:
            on_skip(member)
    if not found:
        raise UnsupportedArchiveError(f"no mail was found in the {format_}; supported: {FORMATS_READ}")


def check_archive(path: ArchivePath, limits: UnpackLimits | None = None) -> ArchiveFormat:
    """Return the format if the archive has a member that is mail. Later members are checked when read."""
    format_ = detect_format(path, limits)
    members = open_members(path, limits)
    try:
        next(members)
    finally:
        members.close()  # type: ignore[attr-defined]  # a generator
    return format_


def _entries(path: ArchivePath, format_: ArchiveFormat, limits: UnpackLimits) -> Iterator[_Entry]:
    if format_.container is Container.ZIP:
        budget = UnpackBudget(limits, size_of(path))
        for packed in zips.read_zip(path, limits):
            yield packed.name, packed.kind, Spending(packed, budget, packed.name), budget
        return
    with open_plain(path, format_.compression, limits) as (stream, budget):
        for entry in read_tar(stream):
            yield entry.name, entry.kind, entry, budget


def _member(name: str, content: BinaryStream, budget: UnpackBudget) -> Member | SkippedMember:
    stream = buffered(content)
    if compression_of(stream.peek(PEEK)) is Compression.GZ:
        stream = buffered(Spending(Inflated(stream, Compression.GZ, name), budget, name))
    reason = _why_skipped(name, stream.peek(PEEK))
    return Member(name, stream) if reason is None else SkippedMember(name, reason)


def _why_skipped(name: str, beginning: bytes) -> str | None:
    if PurePosixPath(name).parts[:1] == ("__MACOSX",):
        return "macOS file metadata is not mail"
    if compression_of(beginning) or beginning.startswith(ZIP_MAGIC) or is_tar_header(beginning[:BLOCK]):
        return "an archive inside the archive is not opened; upload it separately"
    if beginning.strip() and (is_in_maildir(name) or detect_mail(beginning)):
        return None
    return "it is not mail" if beginning.strip() else "it is empty"
