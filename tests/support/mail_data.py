"""The real archives that tests and benchmarks read, where the machine has them."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

__all__ = ["WHY_SKIPPED", "archives", "data_folder", "open_archive"]

ROOT = Path(__file__).resolve().parents[2]
WHY_SKIPPED = "the real archives are not here: set ROUGH_CONSENSUS_DATA to the folder that has mail/"


def data_folder() -> Path | None:
    """The folder with the archives: ROUGH_CONSENSUS_DATA, else `shared/data` beside the project."""
    chosen = os.environ.get("ROUGH_CONSENSUS_DATA")
    folder = (Path(chosen) if chosen else ROOT.parent / "shared" / "data") / "mail"
    return folder if folder.is_dir() else None


def archives() -> Iterator[Path]:
    folder = data_folder()
    if folder is not None:
        yield from sorted(folder.iterdir())


def open_archive(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]  # GzipFile reads as IO
