"""Read tar archives (ustar, GNU, pax) as a stream with limits, which the standard library lacks."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from shared.ingestion.errors import ArchiveBombError, CorruptArchiveError
from shared.ingestion.unpacked_streams import printable
from shared.mail.mbox import BinaryStream

BLOCK = 512
MAX_EXTENDED_BYTES = 1024 * 1024
MAX_EXTENDED_HEADERS = 16  # For one member.
MAX_PAX_KEYWORDS = 1000
_ZEROS = bytes(BLOCK)
_CHECKSUM = slice(148, 156)


class EntryKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    SYMBOLIC_LINK = "symbolic link"
    HARD_LINK = "hard link"
    DEVICE = "device"
    SPARSE_FILE = "sparse file"
    OTHER = "entry of an unknown type"


_KINDS = dict.fromkeys([b"0", b"\0", b"7"], EntryKind.FILE) | {
    b"1": EntryKind.HARD_LINK,
    b"2": EntryKind.SYMBOLIC_LINK,
    b"5": EntryKind.FOLDER,
    b"S": EntryKind.SPARSE_FILE,
    **dict.fromkeys([b"3", b"4", b"6"], EntryKind.DEVICE),
}
_WITHOUT_CONTENT = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})
_GNU_NAME, _GNU_LINK, _PAX, _PAX_GLOBAL = b"L", b"K", b"x", b"g"


@dataclass
class TarEntry:
    """A member of the archive. Read its content before the next member."""

    name: str
    kind: EntryKind
    size: int
    stream: BinaryStream

    def __post_init__(self) -> None:
        self._left = self.size

    def read(self, size: int, /) -> bytes:
        if not self._left or size <= 0:
            return b""
        piece = self.stream.read(min(size, self._left))
        if not piece:
            raise _cut_off(self.name)
        self._left -= len(piece)
        return piece

    def whole(self) -> bytes:
        """Return the rest of the content, and skip the padding."""
        pieces: list[bytes] = []
        while piece := self.read(BLOCK * 128):
            pieces.append(piece)
        self.finish()
        return b"".join(pieces)

    def finish(self) -> None:
        """Skip the unread content and the padding."""
        while self.read(BLOCK * 128):
            pass
        self._left = -self.size % BLOCK
        while self.read(BLOCK):
            pass


def is_tar_header(block: bytes) -> bool:
    return len(block) == BLOCK and block != _ZEROS and _checksum_fits(block)


def read_tar(stream: BinaryStream) -> Iterator[TarEntry]:
    """Yield the entries in order. Raise CorruptArchiveError if the stream is truncated or not a tar."""
    extended: dict[str, str] = {}
    headers = 0
    while (block := _read_block(stream)) not in {b"", _ZEROS}:
        if not _checksum_fits(block):
            raise CorruptArchiveError("tar: a header's checksum is wrong; fetch the archive again")
        kind, size = block[156:157], _number(block[124:136])
        if kind in {_GNU_NAME, _GNU_LINK, _PAX, _PAX_GLOBAL}:
            headers += 1
            if size > MAX_EXTENDED_BYTES or headers > MAX_EXTENDED_HEADERS:
                raise ArchiveBombError(
                    f"tar: a member has extended headers of more than {MAX_EXTENDED_BYTES} bytes,"
                    f" or more than {MAX_EXTENDED_HEADERS} of them; pack the archive again"
                )
            content = TarEntry("tar", EntryKind.OTHER, size, stream).whole()
            if kind == _GNU_NAME:
                extended["path"] = _text(content)
            elif kind == _PAX:
                extended.update(_pax_records(content))
            continue
        entry = _entry(stream, block, kind, size, extended)
        if kind == b"S":
            more = block[482]
            while more:  # The old GNU format continues in more blocks while a flag is set.
                if not (following := _read_block(stream)):
                    raise _cut_off("tar")
                more = following[504]
        yield entry
        entry.finish()
        extended, headers = {}, 0


def _entry(stream: BinaryStream, block: bytes, kind: bytes, size: int, extended: dict[str, str]) -> TarEntry:
    name, prefix = _text(block[:100]), _text(block[345:500])
    is_ustar = block[257:263] == b"ustar\0"
    name = printable(extended.get("path") or (f"{prefix}/{name}" if is_ustar and prefix else name))
    declared = extended.get("size", "")
    if declared.isascii() and declared.isdecimal() and len(declared) < 20:  # noqa: PLR2004 - as in 64 bits
        size = int(declared)
    meaning = _KINDS.get(kind, EntryKind.OTHER)
    if meaning is EntryKind.FILE and name.endswith("/"):
        meaning = EntryKind.FOLDER
    if any(key.startswith("GNU.sparse.") for key in extended):
        meaning = EntryKind.SPARSE_FILE
    stored = 0 if kind in _WITHOUT_CONTENT else size
    return TarEntry(name, meaning, stored, stream)


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")


def _number(field: bytes) -> int:
    """Parse an octal number, or GNU's binary number, which has the first bit set."""
    if field[0] & 0x80:
        if field[0] & 0x40:
            raise CorruptArchiveError("tar: a member has a negative size; fetch the archive again")
        return int.from_bytes(bytes([field[0] & 0x3F]) + field[1:], "big")
    digits = field.strip(b" \0")
    try:
        return int(digits or b"0", 8)
    except ValueError:
        raise CorruptArchiveError("tar: a size is not a number; fetch the archive again") from None


def _checksum_fits(block: bytes) -> bool:
    stored = block[_CHECKSUM].strip(b" \0")
    if not stored or not all(48 <= digit < 56 for digit in stored):  # noqa: PLR2004 - octal digits
        return False
    return int(stored, 8) == sum(block) - sum(block[_CHECKSUM]) + 8 * ord(" ")


def _read_block(stream: BinaryStream) -> bytes:
    """Return a whole block, or no bytes at the end."""
    block = b""
    while len(block) < BLOCK and (piece := stream.read(BLOCK - len(block))):
        block += piece
    if block and len(block) < BLOCK:
        raise _cut_off("tar")
    return block


def _cut_off(name: str) -> CorruptArchiveError:
    return CorruptArchiveError(f"{name}: the archive is incomplete; fetch it again")


def _pax_records(content: bytes) -> dict[str, str]:
    """Parse `length keyword=value` lines. The length counts the whole line."""
    records: dict[str, str] = {}
    position = 0
    while position < len(content) and content[position] != 0:
        space = content.find(b" ", position, position + 20)
        length = content[position:space] if space > 0 else b""
        if not length.isdigit() or int(length) <= len(length) + 1 or len(records) >= MAX_PAX_KEYWORDS:
            raise CorruptArchiveError("tar: an extended header is malformed; fetch the archive again")
        end = position + int(length)
        keyword, _, value = content[space + 1 : end - 1].partition(b"=")
        records[keyword.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        position = end
    return records
