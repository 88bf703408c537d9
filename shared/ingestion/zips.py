"""Read zip archives. Only stored and deflated members are supported, because zlib limits their output."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from shared.ingestion.archive_source import ArchivePath
from shared.ingestion.errors import ArchiveBombError, CorruptArchiveError, UnsupportedArchiveError
from shared.ingestion.tar import EntryKind
from shared.ingestion.unpacked_streams import UnpackLimits, printable

ENCRYPTED = 0x1
DIRECTORY_BYTES_A_MEMBER = 512
MIN_DIRECTORY_BYTES = 1024 * 1024
UNIX = 3
LINK_MODE = 0o120000
TYPE_MASK = 0o170000
_DAMAGED = (zipfile.BadZipFile, OSError, NotImplementedError, ValueError)


class _CautiousFile(io.BufferedReader):
    """A file with a limit for one read, because zipfile reads the whole declared directory at once."""

    def __init__(self, file: io.BufferedReader, largest_read: int) -> None:
        super().__init__(file)
        self._largest_read = largest_read

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self._largest_read:
            raise ArchiveBombError(
                f"zip: its directory has {size} bytes, and may have {self._largest_read}; split the archive"
            )
        return super().read(size)


@dataclass(frozen=True)
class ZipEntry:
    name: str
    kind: EntryKind
    content: IO[bytes] = field(default_factory=io.BytesIO)

    def read(self, size: int, /) -> bytes:
        try:
            return self.content.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise CorruptArchiveError(
                f"{self.name}: the zip data is damaged ({error}); fetch the archive again"
            ) from None


def read_zip(path: ArchivePath, limits: UnpackLimits) -> Iterator[ZipEntry]:
    largest = max(MIN_DIRECTORY_BYTES, limits.members * DIRECTORY_BYTES_A_MEMBER)
    with _CautiousFile(path.open("rb"), largest) as file:
        try:
            archive = zipfile.ZipFile(file)
        except ArchiveBombError:
            raise
        except _DAMAGED as error:
            raise CorruptArchiveError(f"zip: {error}; fetch the archive again") from None
        with archive:
            for info in archive.infolist():
                yield from _entries(archive, info)


def _entries(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[ZipEntry]:
    name = printable(info.filename)
    if info.is_dir():
        yield ZipEntry(name, EntryKind.FOLDER)
    elif info.create_system == UNIX and (info.external_attr >> 16) & TYPE_MASK == LINK_MODE:
        yield ZipEntry(name, EntryKind.SYMBOLIC_LINK)
    else:
        _check_readable(info, name)
        try:
            content = archive.open(info)
        except (*_DAMAGED, RuntimeError) as error:
            raise CorruptArchiveError(
                f"{name}: the zip entry is damaged ({error}); fetch the archive again"
            ) from None
        with content:
            yield ZipEntry(name, EntryKind.FILE, content)


def _check_readable(info: zipfile.ZipInfo, name: str) -> None:
    if info.flag_bits & ENCRYPTED:
        raise UnsupportedArchiveError(f"{name}: it is encrypted; pack it without a password")
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        method = zipfile.compressor_names.get(info.compress_type, str(info.compress_type))  # type: ignore[attr-defined]  # not in typeshed
        raise UnsupportedArchiveError(
            f"{name}: the compression method {method!r} is not supported; use deflate"
        )
