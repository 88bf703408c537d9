"""Which format a file has, by what is in it: its name may say anything."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path, PurePosixPath

from shared.domain.mail.errors import EmptyArchiveError, NotAMailboxError
from shared.domain.mail.separators import EmlDialect, detect
from shared.ingestion.unpacking.errors import UnsupportedArchiveError
from shared.ingestion.unpacking.limits import UnpackBudget, UnpackLimits
from shared.ingestion.unpacking.streams import (
    Compression,
    Readable,
    Spending,
    buffered,
    compression_of,
    inflated,
)
from shared.ingestion.unpacking.tar import BLOCK, is_tar_header, read_tar

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
        stream = file if compression is None else inflated(file, compression, path.name)
        yield Spending(stream, budget, path.name), budget


def mail_in(beginning: bytes) -> Container | None:
    """Whether a file that begins like this is a mailbox or a message, or no mail at all."""
    try:
        dialect = detect(beginning)
    except (EmptyArchiveError, NotAMailboxError):
        return None
    return Container.EML if isinstance(dialect, EmlDialect) else Container.MBOX


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
