"""Writes an export atomically, readable only for its owner."""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ops.exit_codes import Code, CommandError
from ops.output import as_json


def write_export(output: str, records: Sequence[dict[str, Any]]) -> None:
    if output == "-":
        sys.stdout.writelines(_pieces(records, array=False))
        return
    path = Path(output)
    try:
        # mkstemp creates files with mode 600: dead letters may hold private mail.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(_pieces(records, array=path.suffix == ".json"))
        Path(temporary).replace(path)
    except OSError as error:
        raise CommandError(Code.FAILED, f"{output}: cannot be written: {error.strerror}") from None


def _pieces(records: Sequence[dict[str, Any]], *, array: bool) -> Iterator[str]:
    if array:
        yield as_json(records, indent=2) + "\n"
        return
    for record in records:
        yield as_json(record) + "\n"
