"""The arrows of docs/architecture.md: each is a function of the package, which writes what the arrow says."""

import importlib
import pkgutil
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.core.errors import ClassifiedError, ErrorKind
from shared.models.base import Document
from shared.models.threads import Chunk, Thread
from shared.pipeline import state
from shared.pipeline.stage import DocumentRef
from shared.pipeline.state import archives, attempts, threads
from shared.pipeline.state.attempts import SeenAttempt
from shared.pipeline.state.summaries import set_report
from tests.support.documents import (
    CREATED,
    new_archive,
    new_chunk,
    new_message,
    new_report,
    new_summary,
    new_thread,
)
from tests.support.services import ROOT

_ARROW = re.compile(r"^\s*(\S+) --> (\S+): (.+)$", re.MULTILINE)
_MACHINE = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
VERSION = "0123456789abcdef"
MOMENT = "2026-01-02T03:04:05.000000Z"
FIRST = SeenAttempt(0, None)
SUBSTATES = {"pending": ("waiting", "claimed", "requested"), "processed": ("summarized", "reported")}
"""The substates of a thread. Each transition from the whole state may start in any of them."""


class Transition(NamedTuple):
    document: str
    name: str
    """The state function, or `stored` for a new document."""
    before: str
    after: str


def _drawn() -> list[Transition]:
    text = (ROOT / "docs" / "architecture.md").read_text().partition("\n## State machines\n")[2]
    return [
        Transition(heading.lower(), name, before, after)
        for heading, section in _MACHINE.findall(text)
        for before, after, names in _ARROW.findall(section)
        for name in names.split(", ")
    ]


def test_every_transition_is_drawn_once_and_is_a_function_of_the_package() -> None:
    drawn = _drawn()
    assert len(set(drawn)) == len(drawn)
    assert {step.document for step in drawn} >= {"archive", "message", "chunk", "thread"}
    modules = [
        importlib.import_module(f"{state.__name__}.{module.name}")
        for module in pkgutil.iter_modules(state.__path__)
    ]
    functions = {name for module in modules for name, thing in vars(module).items() if callable(thing)}
    assert {step.name for step in drawn} - {"stored"} <= functions


Act = Callable[[Store, Any], Awaitable[Any]]


def _subject(document: Document) -> DocumentRef:
    return DocumentRef(type(document), document.id)


def _failure(document: Document) -> ClassifiedError:
    kind = ErrorKind.PERMANENT if document.id.endswith("-failed") else ErrorKind.TRANSIENT
    return ClassifiedError(kind, "Trouble", "it does not work")


async def _fail(store: Store, document: Document) -> None:
    final = "failed" if document.container == "archives" else None
    await attempts.record_failed_attempt(
        store, [_subject(document)], attempt=1, failure=_failure(document), now=CREATED, session=Session(),
        failed_status=final,
    )  # fmt: skip


async def _record_requeue(store: Store, document: Document) -> None:
    subject, session = _subject(document), Session()
    assert await _count_requeue(store, document)
    assert await attempts.record_requeue(
        store, subject, attempt=1, moment=MOMENT, since=MOMENT, session=session
    )


async def _count_requeue(store: Store, document: Document) -> bool:
    is_thread = isinstance(document, Thread)
    also = threads.requested_version(VERSION, ends_claim=True) if is_thread else {}
    return await attempts.count_requeue(
        store, _subject(document), FIRST, error="E", moment=MOMENT, also=also, session=Session()
    )


async def _give_back(store: Store, document: Document) -> None:
    assert await _count_requeue(store, document)
    assert await attempts.undo_requeue(store, _subject(document), FIRST, moment=MOMENT, session=Session())


async def _claim(store: Store, thread: Thread) -> None:
    assert await threads.claim_version(
        store, thread, VERSION, claimer="event", now=CREATED, session=Session()
    )


async def _report(store: Store, thread: Thread) -> None:
    summary = new_summary(str(thread.summary_id), thread.id)
    number = thread.summary_number
    await set_report(store, new_report(summary, summary_number=number), Session())


async def _chunk(store: Store, chunk: Chunk, name: str) -> None:
    patches = {
        "mark_embedded": lambda: archives.mark_embedded(chunk, model="m"),
        "mark_chunk_failed": lambda: archives.mark_chunk_failed(chunk, _failure(chunk)),
        "mark_reembedded": lambda: archives.mark_reembedded(chunk, model="n"),
        "update_labels": lambda: archives.update_labels(chunk.id, {"label_version": 1}, is_pending=True),
    }
    await store.patch_all(Chunk, [patches[name]()], Session())


ACTS: dict[str, Act] = {
    "count_attempt": lambda store, one: attempts.count_attempt(
        store, [_subject(one)], attempt=1, now=CREATED, session=Session()
    ),
    "record_failed_attempt": _fail,
    "count_requeue": _count_requeue,
    "undo_requeue": _give_back,
    "record_requeue": _record_requeue,
    "mark_failed": lambda store, one: attempts.mark_failed(
        store, _subject(one), FIRST, error="E", session=Session()
    ),
    "reset": lambda store, one: attempts.reset(store, _subject(one), Session()),
    "reopen_document": lambda store, one: attempts.reopen_document(
        store, _subject(one), Session(), attempts=1, error="E", also={}
    ),
    "mark_archive_processed": lambda store, one: archives.mark_archive_processed(
        store, one.id, Session(), message_count=1, thread_count=1, skipped_count=0, skipped=[]
    ),
    "mark_processed": lambda store, one: archives.mark_processed(
        store, [one], {one.id: ("1-abcd", 0)}, Session()
    ),
    **{
        name: lambda store, one, name=name: _chunk(store, one, name)  # type: ignore[misc]
        for name in ("mark_embedded", "mark_chunk_failed", "mark_reembedded", "update_labels")
    },
    "recover_chunks": lambda store, one: archives.recover_chunks(store, [one], Session()),
    "claim_version": _claim,
    "mark_requested": lambda store, one: threads.mark_requested(
        store, one.id, VERSION, Session(), ends_claim=True
    ),
    "set_summary": lambda store, one: threads.set_summary(
        store,
        one,
        new_summary("00000000-0000-0000-0000-000000000001", one.id, content_hash=VERSION),
        Session(),
        now=CREATED,
    ),
    "set_report": _report,
    "reset_unreported": lambda store, one: threads.reset_unreported(
        store, one.id, one.summary_id, "E", Session()
    ),
    "raise_revision": lambda store, one: store.upsert(threads.raise_revision(one), Session()),
    "redirect_thread": lambda store, one: store.upsert(threads.redirect_thread(one, into="other"), Session()),
    "describe_thread": lambda store, one: threads.describe_thread(store, one, {"subject": "S"}, Session()),
}

_THREADS: dict[str, dict[str, Any]] = {
    "waiting": {},
    "claimed": {"requesting": {"version": VERSION, "event": "event"}},
    "requested": {"content_hash": VERSION},
    "summarized": {"status": "processed", "summary_id": "00000000-0000-0000-0000-000000000002"},
    "reported": {
        "status": "processed",
        "summary_id": "00000000-0000-0000-0000-000000000002",
        "report_id": "rpt-00000000-0000-0000-0000-000000000002",
    },
    "failed_max_retries": {"status": "failed_max_retries"},
}


def _documents(step: Transition, number: int) -> list[Document]:
    """Return a document for each state that the transition may start from."""
    if step.document == "thread":
        return [
            new_thread(f"t{number}-{state}", inexact=True, **_THREADS[state])
            for state in SUBSTATES.get(step.before, (step.before,))
        ]
    makers: dict[str, Callable[..., Document]] = {
        "archive": new_archive,
        "message": new_message,
        "chunk": new_chunk,
    }
    make = makers[step.document]
    done = {"embedding_generated": True, "lastError": "E"} if step.document == "chunk" else {}
    return [make(f"d{number}-{step.after}", status=step.before, **done)]


def _state(document: Any) -> str:
    if not isinstance(document, Thread) or document.status == "failed_max_retries":
        return str(document.status)
    if document.merged_into is not None:
        return "merged"
    if document.status == "processed":
        return "reported" if document.report_id == f"rpt-{document.summary_id}" else "summarized"
    if document.requesting is not None:
        return "claimed"
    return "requested" if document.content_hash else "waiting"


async def test_every_function_leads_to_the_state_that_the_page_draws(store: Store) -> None:
    wrong = []
    for number, step in enumerate(step for step in _drawn() if step.name != "stored"):
        for document in _documents(step, number):
            await store.upsert(document, Session())
            await ACTS[step.name](store, document)
            after = _state(await store.read(type(document), document.id, Session()))
            if after not in SUBSTATES.get(step.after, ()) and after != step.after:
                wrong.append((step, after))
    assert wrong == []
