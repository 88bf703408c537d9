"""Compares the documents of two runs over the same archives: `python -m tools.compare_runs BEFORE AFTER`.

`make run ONCE=1 ARCHIVE=PATH ARGS="--data FOLDER"` fills such a folder. The tool shows whether a code change
affects any thread, chunk, reading, citation or report. It exits with 1 if the runs differ.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

Documents = Mapping[str, Mapping[str, Any]]
"""The documents of a container, by a key that is the same in both runs."""

CONTAINERS = ("archives", "messages", "threads", "chunks", "summaries", "reports")
BY_SCOPE = frozenset({"summaries", "reports"})  # their ids are random
SERVICE = frozenset({"_rid", "_self", "_etag", "_attachments", "_ts"})
TIMES = frozenset(
    {
        "arrived", "arrived_at", "created_at", "generated_at", "ingestion_date", "lastAttemptTime",
        "next_delivery_at", "published_at", "read_at", "requeued_at",
    }
)  # fmt: skip
ATTEMPTS = frozenset(
    {"attemptCount", "lastError", "requesting", "revision", "summary_number"}
)  # of repeated or early events
LEFT_OUT = SERVICE | TIMES | ATTEMPTS
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SHOWN, SHOWN_CHARS = 10, 200


class NothingComparedError(Exception):
    """A container is empty in both runs, so the comparison proves nothing."""


def read_run(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the stored documents of a run, by container. The local cloud must be stopped."""
    file = folder / "cosmos" / "cosmos.db"
    if not file.exists():
        raise FileNotFoundError(f"{file}: no database of a local run")
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        tables = {
            name: f"d{number:d}" for number, name in connection.execute("SELECT number, id FROM containers")
        }
        found = {name: list(_documents(connection, tables[name])) for name in CONTAINERS}
    finally:
        connection.close()
    current = {report["summary_id"] for report in found["reports"]}  # a run may have created older summaries
    found["summaries"] = [summary for summary in found["summaries"] if summary["id"] in current]
    return {
        name: {_key(name, document): normalized(document) for document in documents}
        for name, documents in found.items()
    }


def _key(container: str, document: dict[str, Any]) -> str:
    by_scope = container in BY_SCOPE
    return f"{document['scope']} {document['summary_type']}" if by_scope else str(document["id"])


def _documents(connection: apsw.Connection, table: str) -> Iterator[dict[str, Any]]:
    for (body,) in connection.execute(f"SELECT json(body) FROM {table}"):  # noqa: S608 - a number
        document = json.loads(body)
        if "kind" not in document or "root_message_id" in document:
            yield document


def normalized(value: Any) -> Any:
    """Remove values that differ between two runs of the same code: times, attempts and random ids."""
    match value:
        case dict():
            return {name: normalized(held) for name, held in value.items() if name not in LEFT_OUT}
        case list():
            return [normalized(held) for held in value]
        case str():
            return _UUID.sub("(random id)", value)
    return value


def differences(before: Documents, after: Documents) -> Iterator[str]:
    """Yield a line for each document or field that differs."""
    for key in sorted(before.keys() | after.keys()):
        if key not in after or key not in before:
            yield f"{key}: only {'before' if key in before else 'after'}"
            continue
        old, new = before[key], after[key]
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield f"{key}.{name}: {_short(old.get(name))} became {_short(new.get(name))}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}\u2026"


def compare(before: Mapping[str, Documents], after: Mapping[str, Documents]) -> int:
    """Print the differences by container, and return their number."""
    total = 0
    for container in CONTAINERS:
        old, new = before[container], after[container]
        if not old and not new:
            raise NothingComparedError(f"{container}: neither run has any")
        found = list(differences(old, new))
        print(f"{container}: {len(old)} before, {len(new)} after, {len(found)} differences")  # noqa: T201
        fields = Counter(line.partition(": ")[0].rpartition(".")[2] for line in found)
        for line in [*(f"{count} times {name}" for name, count in fields.most_common(5)), *found[:SHOWN]]:
            print(f"  {line}")  # noqa: T201
        total += len(found)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    return 1 if compare(read_run(arguments.before), read_run(arguments.after)) else 0


if __name__ == "__main__":
    sys.exit(main())
