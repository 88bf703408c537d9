"""Find the folder of the labeled corpora. The corpora are never part of the project."""

import os
from pathlib import Path

DATA_VARIABLE = "ROUGH_CONSENSUS_DATA"
_ROOT = Path(__file__).resolve().parents[1]
_BESIDE_PROJECT = _ROOT.parent / "shared" / "data"
README = "evaluation/README.md"
NOT_REDISTRIBUTABLE = {"consensus/", "calls/"}
BUILT = _ROOT / "build" / "corpora"


class MissingDataError(LookupError):
    """The corpora were not found."""


def data_folder() -> Path:
    """Return the folder of the variable, or `shared/data` next to the project, or the built corpora."""
    chosen = os.environ.get(DATA_VARIABLE)
    return Path(chosen) if chosen else _BESIDE_PROJECT if _BESIDE_PROJECT.is_dir() else BUILT


def why_skipped(part: str) -> str:
    if part in NOT_REDISTRIBUTABLE:
        return f"{part} is not here, and not redistributable: set {DATA_VARIABLE} ({README})"
    return f"{part} is not here: run `make corpora`, or set {DATA_VARIABLE} ({README})"


def corpus_files(pattern: str) -> list[Path]:
    """Return the corpus's files, such as `leda/*.json`, sorted."""
    found = sorted(data_folder().glob(pattern))
    if not found:
        raise MissingDataError(f"in {data_folder()}, {why_skipped(pattern)}")
    return found
