"""Segment files, which avoid tokenizing the documents again after a restart.

A file has a JSON outline with a reference for each array, followed by the arrays. It is written under a
temporary name and renamed when complete. Segments are immutable, so a file is either complete or missing. The
database determines which rows are live.
"""

import dataclasses
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from localcloud.search.columns import Column, Frame, Nested
from localcloud.search.postings import Postings
from localcloud.search.segment import Segment, Vectors

MAGIC = b"RCSEG002"
_ALIGNMENT = 64
_CLASSES: dict[str, Any] = {cls.__name__: cls for cls in (Column, Frame, Nested, Postings, Segment, Vectors)}


def write_segment(path: Path, segment: Segment) -> None:
    arrays: list[np.ndarray[Any, Any]] = []
    outline = orjson.dumps(_outline(segment, arrays))
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        file.write(MAGIC + len(outline).to_bytes(8, "little") + outline)
        for array in arrays:
            file.write(b"\0" * (-file.tell() % _ALIGNMENT))
            np.ascontiguousarray(array).tofile(file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read_segment(path: Path) -> Segment:
    """Map a file. Raise ValueError if it is not a segment file."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise ValueError(f"{path} is not a segment of this version")
        outline = orjson.loads(file.read(int.from_bytes(file.read(8), "little")))
        start = file.tell()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    segment = _Reader(mapped, start).build(outline)
    if not isinstance(segment, Segment):
        raise ValueError(f"{path} does not contain a segment")  # noqa: TRY004 - the file is wrong, not the type
    return segment


def _outline(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": value.dtype.str, "shape": value.shape}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {
            "class": type(value).__name__,
            "values": {name: _outline(getattr(value, name), arrays) for name in names},
        }
    if isinstance(value, dict):
        return {"map": {name: _outline(item, arrays) for name, item in value.items()}}
    return value


class _Reader:
    """Reads the arrays in the order of writing."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self._data = data
        self._at = at

    def build(self, outline: Any) -> Any:
        if not isinstance(outline, dict):
            return outline
        if "array" in outline:
            return self._array(np.dtype(outline["array"]), outline["shape"])
        if "map" in outline:
            return {name: self.build(item) for name, item in outline["map"].items()}
        values = {name: self.build(item) for name, item in outline["values"].items()}
        return _CLASSES[outline["class"]](**values)

    def _array(self, dtype: np.dtype[Any], shape: list[int]) -> np.ndarray[Any, Any]:
        self._at += -self._at % _ALIGNMENT
        count = int(np.prod(shape))
        array = np.frombuffer(self._data, dtype, count, self._at) if count else np.empty(0, dtype)
        self._at += count * dtype.itemsize
        return array.reshape(shape)
