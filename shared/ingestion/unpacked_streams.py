"""Streams that limit and decompress other streams piece by piece."""

import io
import re
import unicodedata
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from shared.core.lazy_import import lazy
from shared.ingestion.errors import ArchiveBombError, CorruptArchiveError
from shared.mail.mbox import BinaryStream

if TYPE_CHECKING:
    import bz2
    import lzma
else:
    bz2, lzma = lazy("bz2"), lazy("lzma")

MIB = 1024 * 1024
UNPACKED_TIMES = 4


@dataclass(frozen=True)
class UnpackLimits:
    """Limits that a real mail archive does not reach."""

    total_bytes: int = 8 * 1024 * MIB
    ratio: float = 200.0
    members: int = 200_000
    # Short repetitive text compresses very well and is harmless.
    ratio_free_bytes: int = 16 * MIB

    @classmethod
    def of(cls, largest_archive: int) -> Self:
        """Return the limits for this archive size. gzip compresses mail to about a quarter."""
        return cls(total_bytes=UNPACKED_TIMES * largest_archive)


class UnpackBudget:
    """The bytes and members that an archive may still unpack to."""

    def __init__(self, limits: UnpackLimits, packed_bytes: int) -> None:
        by_ratio = max(limits.ratio_free_bytes, int(packed_bytes * limits.ratio))
        self.left = min(limits.total_bytes, by_ratio)
        self._members_left = limits.members
        self._limits, self._is_by_ratio = limits, by_ratio < limits.total_bytes

    def spend(self, size: int, member: str) -> None:
        self.left -= size
        if self.left >= 0:
            return
        most, way = f"{self._limits.total_bytes} bytes", "raise ARCHIVE_MAX_BYTES"
        if self._is_by_ratio:
            most, way = f"{self._limits.ratio:g} times its size", "unpack it first if you trust it"
        raise ArchiveBombError(f"{member}: the archive unpacks to more than {most}; split it, or {way}")

    def count_member(self, member: str) -> None:
        self._members_left -= 1
        if self._members_left < 0:
            most = self._limits.members
            raise ArchiveBombError(f"{member}: the archive has more than {most} members; split it")


BLOCK = 64 * 1024
MAX_DICTIONARY_BYTES = 256 * 1024 * 1024
GZIP = 16 + zlib.MAX_WBITS


class Compression(StrEnum):
    GZ = "gz"
    BZ2 = "bz2"
    XZ = "xz"


_MAGIC = {b"\x1f\x8b\x08": Compression.GZ, b"BZh": Compression.BZ2, b"\xfd7zXZ\x00": Compression.XZ}
MAGIC_BYTES = max(map(len, _MAGIC))


def compression_of(beginning: bytes) -> Compression | None:
    return next((kind for magic, kind in _MAGIC.items() if beginning.startswith(magic)), None)


class _Raw(io.RawIOBase):
    """A read function as a raw stream. It fills the whole buffer, so that a peek sees enough."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view) and (piece := self._read(len(view) - filled)):
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled


def buffered(stream: BinaryStream) -> io.BufferedReader:
    return io.BufferedReader(_Raw(stream.read), BLOCK)


class Spending:
    def __init__(self, stream: BinaryStream, budget: UnpackBudget, member: str) -> None:
        self._stream = stream
        self._budget = budget
        self._member = member

    def read(self, size: int, /) -> bytes:
        # One byte beyond the budget shows that the limit is exceeded. No more is decompressed.
        piece = self._stream.read(max(1, min(size, self._budget.left + 1)))
        self._budget.spend(len(piece), self._member)
        return piece


class _Gzip:
    """zlib with the interface of bz2 and lzma."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(GZIP)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data


def _unpacker(kind: Compression) -> "_Gzip | bz2.BZ2Decompressor | lzma.LZMADecompressor":
    if kind is Compression.XZ:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_DICTIONARY_BYTES)
    return _Gzip() if kind is Compression.GZ else bz2.BZ2Decompressor()


class Inflated:
    """A decompressed stream. Concatenated streams are read one after another, as `gzip -d` does."""

    def __init__(self, stream: BinaryStream, compression: Compression, member: str) -> None:
        self._stream = stream
        self._compression = compression
        self._member = member
        self._unpacker: Any = _unpacker(compression)
        self._pending = b""

    def read(self, size: int, /) -> bytes:
        try:
            return self._read(size)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, MemoryError) as error:
            raise CorruptArchiveError(
                f"{self._member}: the {self._compression} data is damaged ({error}); fetch the archive again"
            ) from None

    def _read(self, size: int) -> bytes:
        while self._unpacker is not None:
            if self._unpacker.eof:
                self._next_stream(self._unpacker.unused_data)
                continue
            given, self._pending = self._pending, b""
            if not given and self._unpacker.needs_input:
                given = self._stream.read(BLOCK)
            piece: bytes = self._unpacker.decompress(given, size)
            if piece:
                return piece
            if not given and self._unpacker.needs_input and not self._unpacker.eof:
                raise EOFError("it is incomplete")
        return b""

    def _next_stream(self, rest: bytes) -> None:
        """Continue with the next stream, which may follow zero bytes. Ignore any other padding."""
        rest = rest.lstrip(b"\0")
        while len(rest) < MAGIC_BYTES and (more := self._stream.read(BLOCK)):
            rest = (rest + more).lstrip(b"\0")
        if compression_of(rest) is self._compression:
            self._unpacker, self._pending = _unpacker(self._compression), rest
        else:
            self._unpacker = None


SHOWN = 200
KEPT = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]+")


def printable(name: str) -> str:
    """Return the name on one line, without control characters, cut to SHOWN characters."""
    text = "".join(character if character.isprintable() else "�" for character in name)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def safe_filename(name: str, default: str = "archive") -> str:
    """Return the last part of a path in safe ASCII characters, never empty, hidden or a parent folder."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFKD", name))[-1]
    plain = _UNSAFE.sub("_", last.encode("ascii", "ignore").decode()).strip("._")
    stem, dot, ending = plain[-KEPT:].partition(".") if len(plain) > KEPT else (plain, "", "")
    return (stem + dot + ending).strip("._") or default
