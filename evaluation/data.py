"""Where the labelled corpora are. They are never part of the project."""

import os
from pathlib import Path

DATA_VARIABLE = "ROUGH_CONSENSUS_DATA"
_BESIDE_PROJECT = Path(__file__).resolve().parents[2] / "shared" / "data"


class MissingDataError(LookupError):
    """The corpora were not found."""


def data_folder() -> Path:
    return Path(os.environ.get(DATA_VARIABLE) or _BESIDE_PROJECT)


def corpus_files(pattern: str) -> list[Path]:
    """The corpus's files, such as `leda/*.json`, sorted."""
    found = sorted(data_folder().glob(pattern))
    if not found:
        raise MissingDataError(
            f"no {pattern} in {data_folder()}: set {DATA_VARIABLE} to the folder of the corpora"
        )
    return found
