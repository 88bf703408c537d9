"""The folder that the default encoder runs from: graphs, tokenizer, notice, and a manifest with their hashes.

`python -m shared.embedding.openvino.build` makes it, at set-up or package time.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from shared.embedding.openvino.cpu import Precision
from shared.embedding.openvino.weights import sha256

# Beside the app's code, so that it travels in the deployed package.
DEFAULT_FOLDER = Path(__file__).resolve().parents[3] / "models" / "all-MiniLM-L6-v2"
MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.json"
NOTICE = "NOTICE"
_FORMAT = 1
_HOW_TO = (
    "make it with: python -m shared.embedding.openvino.build --out FOLDER, "
    "and name it in EMBEDDING_MODEL_PATH"
)


class ModelFolderError(ValueError):
    """The model folder is missing, incomplete or changed."""


def graph_files(precision: Precision) -> tuple[str, str]:
    """The graph and its weights."""
    return f"{precision}.xml", f"{precision}.bin"


@dataclass(frozen=True)
class Manifest:
    """What is in a model folder, and one text with its exact vector, to see that the graph works here."""

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

    def write(self, folder: Path) -> None:
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def checked(self, folder: Path, name: str) -> Path:
        """The file of this name, if it is the one that was built."""
        file = folder / name
        if name not in self.files or not file.is_file():
            raise ModelFolderError(f"{file} is missing; {_HOW_TO}")
        if sha256(file) != self.files[name]:
            raise ModelFolderError(f"{file} is not the file that was built; {_HOW_TO}")
        return file
