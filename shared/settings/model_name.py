"""The true name of an embedding model in a folder: vectors and the index go by it."""

import json
from pathlib import Path

MANIFEST = "manifest.json"


def model_in(folder: str | None) -> str | None:
    """As its manifest has it, else the folder's name. None without a folder: who loads it says so."""
    if folder is None or not Path(folder).is_dir():
        return None
    return manifest_model(Path(folder)) or Path(folder).resolve().name


def manifest_model(folder: Path) -> str | None:
    """As the manifest beside a built model has it; None without one that can be read."""
    try:
        return str(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["model"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
