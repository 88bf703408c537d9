"""The real archives for tests and benchmarks, on machines that have them."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from evaluation.data import data_folder as corpora_folder
from evaluation.data import why_skipped

__all__ = ["WHY_SKIPPED", "archives", "data_folder", "open_archive"]

ROOT = Path(__file__).resolve().parents[2]
WHY_SKIPPED = why_skipped("mail/")


def data_folder() -> Path | None:
    """Return the folder with the archives."""
    folder = corpora_folder() / "mail"
    return folder if folder.is_dir() else None


def archives() -> Iterator[Path]:
    folder = data_folder()
    if folder is not None:
        yield from sorted(folder.iterdir())


def open_archive(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]  # GzipFile reads as IO
