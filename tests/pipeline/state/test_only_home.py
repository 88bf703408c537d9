"""Nobody but shared/pipeline/state writes the fields that make a document's state."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.services import ROOT

STATE_FIELDS = frozenset(
    {
        "status", "attemptCount", "lastAttemptTime", "lastError", "requeued_at", "embedding_generated",
        "summary_id", "summary_number", "report_id", "content_hash", "requesting", "merged_into", "revision",
    }
)  # fmt: skip
ROOMS = ("shared", "stages")
HOME = "shared/pipeline/state/"
# These name the fields in conditions and in what they show, and can write none: they get no Patch.
READERS = ("shared/models/queries/", "shared/views/")
READING_ROOMS = ("web", "ops", "shared/views", "shared/models/queries")

# A new document, or something that is not stored: whose constructor takes a field of the same name.
CONSTRUCTORS = {
    "Report": "a new document",
    "Summary": "a new document",
    "Removal": "a new document: the tombstone of an archive that went with its source",
    "ReportDelivery": "a part of a new document",
    "ReportDeliveryFailed": "an event",
    "ReportPublished": "an event",
    "SummaryComplete": "an event",
    "save_audit": "an audit record's own status, which only operations/audit stores",
}
# Modules in which the name means something else, or is read and shown.
MODULES = {
    ("shared/ingestion/fetch_runs.py", "status"): "the status of an Operation",
    ("shared/pipeline/bare_events.py", "summary_id"): "a field of SummaryComplete",
    ("shared/pipeline/event_builders.py", "report_id"): "a field of ReportDeliveryFailed",
    ("shared/pipeline/event_types.py", "summary_id"): "the name of a span's attribute",
    ("shared/pipeline/event_types.py", "report_id"): "the name of a span's attribute",
    ("shared/operations/due_documents.py", "requeued_at"): "the document as a query read it",
    ("shared/operations/correcting.py", "status"): "the fate of an objection, in a label",
    ("shared/operations/integrity/checks.py", "summary_id"): "a finding's data",
    ("shared/operations/integrity/repair.py", "attemptCount"): "the document as the requeue reads it",
    ("shared/operations/integrity/repair.py", "lastAttemptTime"): "the document as the requeue reads it",
    ("shared/operations/integrity/repair.py", "lastError"): "the document as the requeue reads it",
    ("shared/operations/integrity/repair.py", "requeued_at"): "the document as the requeue reads it",
    ("shared/operations/integrity/run.py", "status"): "the status of a Run",
    ("shared/operations/due_documents.py", "status"): "the document as it is shown",
    ("shared/operations/oversight/stuck_documents.py", "status"): "the archive as it is shown",
    ("shared/operations/oversight/stuck_documents.py", "requeued_at"): "the document as a query read it",
    ("shared/operations/oversight/timeline.py", "lastAttemptTime"): "the words for a time that is shown",
    ("shared/operations/oversight/timeline.py", "requeued_at"): "the words for a time that is shown",
    ("shared/operations/removal/run.py", "status"): "the status of a Removal",
    ("shared/operations/sweep.py", "status"): "the status of a Run, and a metric's label",
}


class Write(NamedTuple):
    field: str
    line: int
    called: str | None  # the function or class whose keyword it is


def writes(source: str) -> Iterator[Write]:
    """Every dict key, keyword argument and assignment that names a field of the state."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Dict(keys=keys):
                names = [key.value for key in keys if isinstance(key, ast.Constant)]
                yield from (Write(str(name), node.lineno, None) for name in names if name in STATE_FIELDS)
            case ast.Call(func=func, keywords=keywords):
                called = getattr(func, "id", getattr(func, "attr", "?"))
                yield from (Write(k.arg, node.lineno, called) for k in keywords if k.arg in STATE_FIELDS)
            case ast.Assign(targets=targets):
                yield from (write for target in targets for write in _assigned(target))
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                yield from _assigned(target)
            case _:
                continue


def _assigned(target: ast.expr) -> Iterator[Write]:
    for node in ast.walk(target):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()) if name in STATE_FIELDS:
                yield Write(name, node.lineno, None)
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()) if name in STATE_FIELDS:
                yield Write(name, node.lineno, None)
            case _:
                continue


def _modules() -> Iterator[tuple[str, Path]]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith((HOME, *READERS)):
                yield name, path


def _found() -> Iterator[tuple[str, Write]]:
    return ((name, write) for name, path in _modules() for write in writes(path.read_text()))


def test_only_the_state_package_writes_a_documents_state() -> None:
    strangers = [
        f"{name}:{write.line}: {write.field}"
        for name, write in _found()
        if write.called not in CONSTRUCTORS and (name, write.field) not in MODULES
    ]
    assert strangers == [], "move these writes to shared/pipeline/state, or say here what they are"


def test_no_exception_is_left_over() -> None:
    found = list(_found())
    called = {write.called for _, write in found}
    places = {(name, write.field) for name, write in found if write.called not in CONSTRUCTORS}
    assert set(CONSTRUCTORS) <= called
    assert set(MODULES) <= places


@pytest.mark.parametrize("room", READING_ROOMS)
def test_rooms_that_show_documents_patch_none(room: str) -> None:
    paths = sorted((ROOT / room).rglob("*.py"))
    assert paths
    writers = {"Patch", "patch_all", "write_all", "upsert_all"}  # one document needs a Patch, many these
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name | ast.Attribute)
        and getattr(node, "id", getattr(node, "attr", "")) in writers
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'Patch(id_, id_, set={"status": "processed"})',
        'changes = {"lastError": None}',
        'thread.model_copy(update={"merged_into": other})',
        "thread.model_copy(update=dict(summary_id=None))",
        "chunk.embedding_generated = True",
        'stored["content_hash"] = version',
        "thread.attemptCount += 1",
    ],
)
def test_every_way_to_write_a_field_is_found(source: str) -> None:
    assert [write.field for write in writes(source) if write.called not in CONSTRUCTORS]


def test_reading_a_field_is_not_writing_it() -> None:
    assert list(writes('open_ = thread.status == "pending" and stored["status"] != x.get("lastError")')) == []
