"""The app's own Functions, as the host finds them, and the replaced parts of a process.

The simulation runs in its own process, because the replacements are permanent.
"""

import asyncio
import hashlib
import logging
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import azure.functions as func
import numpy as np

from shared.azure import connections
from shared.azure.calls import Calls
from shared.azure.cosmos import lease, session, store
from shared.core import ids
from shared.core.errors import EncoderStartError
from shared.core.ids import delivery_id
from shared.embedding.encoder import EncodingResult, Vectors, normalised
from shared.ingestion import archive_reader
from shared.ingestion.reader_process import Batch, read_batches
from shared.models.reports import Report
from shared.publishing import webhooks
from shared.publishing.webhooks import NotDeliveredError
from shared.settings.outgoing import Webhook
from shared.summaries.extractive import ExtractiveSummarizer
from shared.summaries.markdown import render_html
from shared.summarization import digests, summary_document
from stages import chunking
from stages.blueprints import BLUEPRINTS
from tests.simulation.loop import HOST
from tests.simulation.network import Errors

Function = Callable[[Any], Any]
SHARED_MEMORY = Path("/dev/shm")
MOST_KNOWN = 20_000
# No code changes the content of these in place, so copies may share it.
VALIDATED_ONCE = frozenset(
    {"archives", "messages", "threads", "chunks", "summaries", "reports", "locks", "digests", "failures"}
)


def _functions() -> dict[str, tuple[Function, str | None]]:
    app = func.FunctionApp()
    for blueprint in BLUEPRINTS:
        app.register_functions(blueprint)
    found: dict[str, tuple[Function, str | None]] = {}
    for function in app.get_functions():
        queue = getattr(function.get_trigger(), "queue_name", None)
        found[str(function.get_function_name())] = (function.get_user_function(), queue)
    return found


FUNCTIONS = _functions()
QUEUES = {queue: function for function, queue in FUNCTIONS.values() if queue is not None}


class ToyEmbedder:
    """An embedder whose vector is a hash of the text."""

    backend, dimension, window = "toy", 8, 256

    def __init__(self, model: str) -> None:
        self.model = model

    async def encode_each(self, texts: Sequence[str]) -> EncodingResult:
        if HOST.get().world.is_down("model"):
            raise EncoderStartError("the encoder could not be started")
        await asyncio.sleep(0.001 * len(texts))
        return EncodingResult(
            np.array([_vector(self.model, text) for text in texts], np.float32).reshape(-1, 8)
        )

    async def encode(self, texts: Sequence[str]) -> Vectors:
        return (await self.encode_each(texts)).complete()

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def close(self) -> None:
        """Nothing to close."""


@cache
def _vector(model: str, text: str) -> Vectors:
    digest = hashlib.sha256(f"{model}\n{text}".encode()).digest()[:8]
    vector: Vectors = normalised(np.frombuffer(digest, np.uint8).astype(np.float32).reshape(1, 8))[0]
    return vector


class _ClientsOfHost:
    """Clients of the current host, because each simulated host is a process with its own connections."""

    async def get(self, _key: object, _start: object) -> connections.Clients:
        clients: connections.Clients = HOST.get().clients
        return clients


async def _send_to_webhook(hook: Webhook, report: Report, _policy: Any, *, seconds: float, **_: Any) -> None:
    """Send one attempt over the simulated network. The receiver records the delivery's id."""
    world, id_ = HOST.get().world, delivery_id(report.report_id, hook.name)
    received: dict[str, int] = world.received
    await world.network.call(
        "webhook",
        "post",
        lambda: received.__setitem__(id_, received.get(id_, 0) + 1),
        Errors(_not_delivered, _not_delivered, resends=False),
        f"{report.report_id} within {seconds:.0f} s",
    )


def _not_delivered(_how: object) -> Exception:
    return NotDeliveredError("the receiver did not answer")


class _InlineThread:
    """A thread that runs to its end when it is started. Real threads would make the order of steps random."""

    def __init__(self, target: Callable[..., None], args: tuple[Any, ...], **_: Any) -> None:
        self._target, self._args = target, args

    def start(self) -> None:
        self._target(*self._args)

    def join(self, _timeout: float) -> None:
        """Nothing to wait for: the thread has ended."""


def prepare_process() -> None:
    """Prepare the process once: the hosts' connections, no real threads, and cached pure work."""
    logging.disable(logging.CRITICAL)
    replace_in(connections, "_connected", _ClientsOfHost())
    replace_in(Calls, "report", lambda *_: None)  # no test reads the metrics
    inline = SimpleNamespace(Thread=_InlineThread, Semaphore=threading.Semaphore)
    replace_in(archive_reader, "threading", inline)
    replace_in(archive_reader, "read_batches", _read_once)
    replace_in(chunking, "chunk_body", _memoised(chunking.chunk_body, _chunk_key))  # type: ignore[attr-defined]
    replace_in(webhooks, "send", _send_to_webhook)
    for module in (summary_document, digests):
        replace_in(module, "render_html", _memoised(render_html, lambda markdown: markdown))
    summary = _memoised(ExtractiveSummarizer.summary, lambda _self, context: repr(context))
    replace_in(ExtractiveSummarizer, "summary", summary)
    replace_in(session, "merge_tokens", lru_cache(MOST_KNOWN)(session.merge_tokens))
    if SHARED_MEMORY.is_dir():  # removing a temporary archive from a disk takes milliseconds
        tempfile.tempdir = str(SHARED_MEMORY)


def read_documents_once() -> None:
    """Validate each version of a document once. Its ETag identifies it in the in-memory Cosmos DB."""
    known: dict[tuple[type, str, int], Any] = {}
    original = store.read_document  # type: ignore[attr-defined]

    def read_once(model: Any, stored: dict[str, Any]) -> Any:
        etag = stored.get("_etag")
        if etag is None or model.container not in VALIDATED_ONCE:
            return original(model, stored)
        key = (model, etag, len(stored))
        if key not in known:
            if len(known) > MOST_KNOWN:
                known.clear()
            known[key] = original(model, stored)
        return known[key].model_copy()

    replace_in(store, "read_document", read_once)


def set_scale(*, small: bool) -> None:
    """Give small runs few shared partitions, for their many full reads, and seldom polls of a lease."""
    replace_in(ids, "SOURCE_PARTITIONS", 2 if small else _PARTITIONS)
    _LEASE_DEFAULTS["poll"] = 1.0 if small else lease.POLL_SECONDS


_PARTITIONS = ids.SOURCE_PARTITIONS
_LEASE_DEFAULTS: dict[str, Any] = lease.Lease.__init__.__kwdefaults__ or {}


def replace_in(owner: Any, name: str, value: Any) -> None:
    if not hasattr(owner, name):
        raise AttributeError(f"{owner} has no {name} to replace")
    setattr(owner, name, value)


_batches: dict[bytes, list[Batch]] = {}


def _read_once(path: Path) -> Generator[Batch, None, None]:
    content = path.read_bytes()
    if content not in _batches:
        _batches[content] = list(read_batches(path))
    yield from _batches[content]


def _memoised(work: Any, key_of: Callable[..., Any], *, holds: bool = False) -> Any:
    """Cache work by a key. `holds` also stores the arguments, so that an id in the key is never reused."""
    known: dict[Any, Any] = {}

    def once(*arguments: Any) -> Any:
        key = key_of(*arguments)
        if key not in known:
            if len(known) > MOST_KNOWN:
                known.clear()
            known[key] = (work(*arguments), arguments if holds else None)
        return known[key][0]

    return once


def _chunk_key(body: str, segments: Sequence[Any], *_rest: Any) -> Any:
    return body, tuple(segments)
