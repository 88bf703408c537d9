"""The mailboxes and messages inside an archive file, one stream after the other.

Members are told by their content. One that is compressed with gzip is unpacked; an archive inside the archive
is not opened. What is passed over is told to `on_skip`, with the reason.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from shared.core.lazy_import import lazy
from shared.domain.mail.mbox import EML, detect
from shared.domain.mail.models import EmptyArchiveError, NotAMailboxError
from shared.ingestion.errors import UnsupportedArchiveError
from shared.ingestion.tar import BLOCK, EntryKind, is_tar_header, read_tar
from shared.ingestion.unpacked_streams import (
    Compression,
    Inflated,
    Readable,
    Spending,
    UnpackBudget,
    UnpackLimits,
    buffered,
    compression_of,
)

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
    """What holds the messages, once it is unpacked."""

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


def detect_format(path: Path, limits: UnpackLimits | None = None) -> ArchiveFormat:
    """The format of a file. UnsupportedArchiveError says what it is instead, as far as that is known."""
    with path.open("rb") as file:
        beginning = file.read(PEEK)
    compression = compression_of(beginning)
    if compression is None:
        return ArchiveFormat(_container(path, None, beginning, limits))
    unpacked = _peek_unpacked(path, compression, limits)
    if compression_of(unpacked) or unpacked.startswith(ZIP_MAGIC):
        raise UnsupportedArchiveError(
            f"it is an archive inside a {compression} file; unpack the outer one, and send what is inside"
        )
    return ArchiveFormat(_container(path, compression, unpacked, limits), compression)


@contextmanager
def open_plain(
    path: Path, compression: Compression | None, limits: UnpackLimits
) -> Iterator[tuple[Readable, UnpackBudget]]:
    """The file's content, unpacked where it is compressed, on a budget."""
    budget = UnpackBudget(limits, path.stat().st_size)
    with path.open("rb") as file:
        stream = file if compression is None else Inflated(file, compression, path.name)
        yield Spending(stream, budget, path.name), budget


def mail_in(beginning: bytes) -> Container | None:
    """Whether a file that begins like this is a mailbox or a message, or no mail at all."""
    try:
        dialect = detect(beginning)
    except (EmptyArchiveError, NotAMailboxError):
        return None
    return Container.EML if dialect is EML else Container.MBOX


def in_maildir(name: str) -> bool:
    return PurePosixPath(name).parent.name in {"cur", "new"}


def _container(
    path: Path, compression: Compression | None, beginning: bytes, limits: UnpackLimits | None
) -> Container:
    if beginning.startswith(ZIP_MAGIC):
        return Container.ZIP
    if is_tar_header(beginning[:BLOCK]):
        return _tar_kind(path, compression, limits or UnpackLimits())
    found = mail_in(beginning)
    if found is None:
        raise UnsupportedArchiveError(_no_mail(beginning))
    return found


def _no_mail(beginning: bytes) -> str:
    if not beginning.strip():
        return "the file is empty; fetch it again"
    for magic, name in _OTHER_ARCHIVES.items():
        if beginning.startswith(magic):
            return f"it is a {name} archive, which is not read; what is: {FORMATS_READ}"
    if beginning.lstrip()[:15].lower().startswith((b"<!doctype", b"<html")):
        return "it is a web page, and no archive of mail; give the address of the archive itself"
    return f"it is no archive of mail; what is read: {FORMATS_READ}"


def _peek_unpacked(path: Path, compression: Compression, limits: UnpackLimits | None) -> bytes:
    with open_plain(path, compression, limits or UnpackLimits()) as (stream, _):
        return buffered(stream).read(PEEK)


def _tar_kind(path: Path, compression: Compression | None, limits: UnpackLimits) -> Container:
    """A Maildir shows within the first entries, before any large file."""
    with open_plain(path, compression, limits) as (stream, _):
        for entry in islice(read_tar(stream), LOOKED_AT):
            name = entry.name.rstrip("/")
            if in_maildir(name) or PurePosixPath(name).name in {"cur", "new"}:
                return Container.MAILDIR
            if entry.size > PEEK:
                break
    return Container.TAR


NOT_READ = "an archive inside the archive is not opened; send it by itself"


class MemberKind(StrEnum):
    MBOX = "mbox"
    EML = "eml"


@dataclass(frozen=True)
class Member:
    """A mailbox or a message. Its stream is good until the next member is asked for."""

    name: str
    kind: MemberKind
    stream: io.BufferedReader


@dataclass(frozen=True)
class SkippedMember:
    name: str
    reason: str


OnSkip = Callable[[SkippedMember], None]


def open_members(
    path: Path, limits: UnpackLimits | None = None, *, on_skip: OnSkip = lambda _: None
) -> Iterator[Member]:
    """The members of the archive. ArchiveError where it is broken, too much, or holds no mail at all."""
    limits = limits or UnpackLimits()
    format_ = detect_format(path, limits)
    if format_.container in {Container.MBOX, Container.EML}:
        yield from _single(path, format_, limits)
        return
    read = _zip_members if format_.container is Container.ZIP else _tar_members
    found = 0
    for member in read(path, format_, limits, on_skip):
        found += 1
        yield member
    if not found:
        raise UnsupportedArchiveError(f"no mail was found in the {format_}; what is read: {FORMATS_READ}")


def check_archive(path: Path, limits: UnpackLimits | None = None) -> ArchiveFormat:
    """The format, once a first member that is mail was seen. The rest is checked as it is read."""
    format_ = detect_format(path, limits)
    members = open_members(path, limits)
    try:
        next(members)
    finally:
        members.close()  # type: ignore[attr-defined]  # a generator
    return format_


def _single(path: Path, format_: ArchiveFormat, limits: UnpackLimits) -> Iterator[Member]:
    with open_plain(path, format_.compression, limits) as (stream, _):
        yield Member(path.name, MemberKind(format_.container), buffered(stream))


def _tar_members(
    path: Path, format_: ArchiveFormat, limits: UnpackLimits, on_skip: OnSkip
) -> Iterator[Member]:
    with open_plain(path, format_.compression, limits) as (stream, budget):
        for entry in read_tar(stream):
            budget.count_member(entry.name)
            if entry.kind is EntryKind.FILE:
                yield from _member(entry.name, entry, budget, on_skip)
            elif entry.kind is not EntryKind.FOLDER:
                on_skip(SkippedMember(entry.name, f"a {entry.kind} is not read"))


def _zip_members(
    path: Path, _format: ArchiveFormat, limits: UnpackLimits, on_skip: OnSkip
) -> Iterator[Member]:
    budget = UnpackBudget(limits, path.stat().st_size)
    for entry in zips.read_zip(path, limits):
        budget.count_member(entry.name)
        if entry.kind is EntryKind.FILE:
            yield from _member(entry.name, Spending(entry, budget, entry.name), budget, on_skip)
        elif entry.kind is not EntryKind.FOLDER:
            on_skip(SkippedMember(entry.name, f"a {entry.kind} is not read"))


def _member(name: str, content: Readable, budget: UnpackBudget, on_skip: OnSkip) -> Iterator[Member]:
    stream = buffered(content)
    if compression_of(stream.peek(PEEK)) is Compression.GZ:
        stream = buffered(Spending(Inflated(stream, Compression.GZ, name), budget, name))
    kind = _kind(name, stream.peek(PEEK))
    if isinstance(kind, MemberKind):
        yield Member(name, kind, stream)
    else:
        on_skip(SkippedMember(name, kind))


def _kind(name: str, beginning: bytes) -> MemberKind | str:
    """What it is, or why it is passed over."""
    if PurePosixPath(name).parts[:1] == ("__MACOSX",):
        return "what macOS notes about files is not mail"
    if compression_of(beginning) or beginning.startswith(ZIP_MAGIC) or is_tar_header(beginning[:BLOCK]):
        return NOT_READ
    if in_maildir(name) and beginning.strip():
        return MemberKind.EML
    mail = mail_in(beginning)
    if mail is not None:
        return MemberKind(mail)
    return "it is not mail" if beginning.strip() else "it is empty"
