"""The mailboxes and messages inside an archive file, one stream after the other.

Members are told by their content. One that is compressed with gzip is unpacked; an archive inside the archive
is not opened. What is passed over is told to `on_skip`, with the reason.
"""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from shared.core.lazy_import import lazy
from shared.ingestion.unpacking import streams
from shared.ingestion.unpacking.errors import UnsupportedArchiveError
from shared.ingestion.unpacking.formats import (
    FORMATS_READ,
    PEEK,
    ZIP_MAGIC,
    ArchiveFormat,
    Container,
    detect_format,
    in_maildir,
    mail_in,
    open_plain,
)
from shared.ingestion.unpacking.limits import UnpackBudget, UnpackLimits
from shared.ingestion.unpacking.tar import BLOCK, EntryKind, is_tar_header, read_tar

if TYPE_CHECKING:
    from shared.ingestion.unpacking import zips
else:
    zips = lazy("shared.ingestion.unpacking.zips")

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
        yield Member(path.name, MemberKind(format_.container), streams.buffered(stream))


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
            yield from _member(entry.name, streams.Spending(entry, budget, entry.name), budget, on_skip)
        elif entry.kind is not EntryKind.FOLDER:
            on_skip(SkippedMember(entry.name, f"a {entry.kind} is not read"))


def _member(name: str, content: streams.Readable, budget: UnpackBudget, on_skip: OnSkip) -> Iterator[Member]:
    stream = streams.buffered(content)
    if streams.compression_of(stream.peek(PEEK)) is streams.Compression.GZ:
        stream = streams.buffered(
            streams.Spending(streams.Inflated(stream, streams.Compression.GZ, name), budget, name)
        )
    kind = _kind(name, stream.peek(PEEK))
    if isinstance(kind, MemberKind):
        yield Member(name, kind, stream)
    else:
        on_skip(SkippedMember(name, kind))


def _kind(name: str, beginning: bytes) -> MemberKind | str:
    """What it is, or why it is passed over."""
    if PurePosixPath(name).parts[:1] == ("__MACOSX",):
        return "what macOS notes about files is not mail"
    if (
        streams.compression_of(beginning)
        or beginning.startswith(ZIP_MAGIC)
        or is_tar_header(beginning[:BLOCK])
    ):
        return NOT_READ
    if in_maildir(name) and beginning.strip():
        return MemberKind.EML
    mail = mail_in(beginning)
    if mail is not None:
        return MemberKind(mail)
    return "it is not mail" if beginning.strip() else "it is empty"
