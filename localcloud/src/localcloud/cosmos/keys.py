"""Partition keys: their values in documents and headers, and their positions in a container's ranges.

The position is the effective partition key (EPK), a hexadecimal hash that the SDKs compute too.
"""

import re
import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mmh3
import orjson

from localcloud.cosmos.errors import bad_request
from localcloud.cosmos.keys_v1 import effective_key_v1

EPK_SPACE = 1 << 14  # the first two bytes of an EPK, whose two highest bits are zero
MAX_KEY_LENGTH = 2048
MAX_LEVELS = 3
MAX_CACHED = 10_000


_PATH_PART = re.compile(r"""/(?:("[^"]*"|'[^']*')|([^/"']+))""")


class _Missing:
    """The value of a partition key that the document lacks: `{}` in the API."""


MISSING = _Missing()


def parse_path(path: Any) -> tuple[str, ...]:
    """Return the names in a path such as /a/b or /"a b"/c."""
    if not isinstance(path, str) or not path.startswith("/") or path == "/":
        raise bad_request(f"the path {path!r} does not start with / and name a property")
    parts = _PATH_PART.findall(path)
    if "".join(f"/{quoted or plain}" for quoted, plain in parts) != path:
        raise bad_request(f"the path {path!r} is malformed")
    return tuple(quoted[1:-1] if quoted else plain for quoted, plain in parts)


def _for_hashing(value: Any) -> bytes:
    if value is MISSING:
        return b"\x00"
    if value is None:
        return b"\x01"
    if isinstance(value, bool):
        return b"\x03" if value else b"\x02"
    if isinstance(value, int | float):
        return b"\x05" + struct.pack("<d", float(value))
    return b"\x08" + str(value).encode() + b"\xff"


def _hash(data: bytes) -> str:
    digest = bytearray(mmh3.hash_bytes(data, 0, x64arch=True))
    digest.reverse()
    digest[0] &= 0x3F
    return digest.hex().upper()


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A partition key: its canonical text, which the store compares, and its EPK."""

    text: str
    epk: str
    complete: bool = True


def _canonical(value: Any) -> str:
    if value is MISSING:
        return "{}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return orjson.dumps(value).decode()


@dataclass(frozen=True)
class KeyDefinition:
    paths: tuple[tuple[str, ...], ...]
    hierarchical: bool = False
    version: int = 2
    _cache: dict[str, PartitionKey] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, definition: Any) -> "KeyDefinition":
        if not isinstance(definition, dict) or not isinstance(definition.get("paths"), list):
            raise bad_request("a container needs a partitionKey with its paths, such as {'paths': ['/id']}")
        paths = tuple(parse_path(path) for path in definition["paths"])
        if len(paths) > MAX_LEVELS:
            raise bad_request(f"Too many partition key paths specified: {len(paths)}, at most {MAX_LEVELS}")
        kind = definition.get("kind", "Hash")
        version = definition.get("version", 2)
        if version not in (1, 2):
            raise bad_request(f"a partition key is of version 1 or 2, not {version!r}")
        if kind == "Hash" and len(paths) == 1:
            return cls(paths, version=version)
        if kind == "MultiHash" and paths and version == 2:  # noqa: PLR2004 - the newer of the two versions
            return cls(paths, hierarchical=True)
        raise bad_request(
            "a partition key is of kind Hash with one path or MultiHash with at most three, "
            f"not {kind!r} with {len(paths)}"
        )

    def text_in(self, document: dict[str, Any]) -> str:
        """Return the canonical text of a document's key."""
        return "[" + ",".join([_canonical(_lookup(document, path)) for path in self.paths]) + "]"

    def of_header(self, header: str) -> PartitionKey:
        """Return the key in an x-ms-documentdb-partitionkey header."""
        known = self._cache.get(header)
        if known is not None:
            return known
        try:
            values = orjson.loads(header.encode("latin-1"))
        except ValueError:
            raise bad_request(f"the partition key header is not a JSON array: {header[:100]}") from None
        if not isinstance(values, list) or len(values) > len(self.paths):
            raise bad_request(
                f"the partition key header does not match the container's {len(self.paths)} key path(s)",
                substatus=1001,
            )
        key = self.of_values([MISSING if value == {} else value for value in values] or [MISSING])
        if len(self._cache) < MAX_CACHED:
            self._cache[header] = key
        return key

    def of_values(self, values: Sequence[Any]) -> PartitionKey:
        for value in values:
            if not isinstance(value, str | int | float | bool | _Missing | None):
                raise bad_request("a partition key value is a string, a number, a boolean or null")
            if isinstance(value, str) and len(value.encode("utf-8", "surrogatepass")) > MAX_KEY_LENGTH:
                raise bad_request(f"a partition key value has at most {MAX_KEY_LENGTH} bytes")
        text = "[" + ",".join(map(_canonical, values)) + "]"
        complete = len(values) == len(self.paths)
        if self.hierarchical:
            return PartitionKey(text, "".join(_hash(_for_hashing(value)) for value in values), complete)
        if self.version == 1:
            return PartitionKey(text, effective_key_v1(values[0], _for_hashing(values[0])[:1]), complete)
        return PartitionKey(text, _hash(b"".join(map(_for_hashing, values))), complete)


def _lookup(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(document, dict) or name not in document:
            return MISSING
        document = document[name]
    return MISSING if isinstance(document, dict | list) else document


class RangeMap:
    """The partition-key ranges of a container, which divide the EPK space equally."""

    def __init__(self, count: int) -> None:
        self.starts = [""] + [f"{EPK_SPACE * number // count:04X}" for number in range(1, count)]
        self.ends = [*self.starts[1:], "FF"]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def bounds(self) -> list[tuple[str, str]]:
        return list(zip(self.starts, self.ends, strict=True))

    def of_epk(self, epk: str) -> int:
        return bisect_right(self.starts, epk) - 1

    def parse_id(self, header: str) -> int:
        number = int(header) if header.isascii() and header.isdigit() and len(header) < 6 else -1  # noqa: PLR2004
        if not 0 <= number < len(self.starts):
            raise bad_request(f"there is no partition key range {header[:20]!r}")
        return number
