"""Invariants that must hold at the end, when the faults have stopped and the system is quiet."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.core import ids
from shared.core.ids import delivery_id, message_key, set_of_chunk
from shared.models.containers import CONTAINERS
from shared.models.queries.operations import RETRY_LOCKS
from shared.operations.integrity.run import VerifyOptions, verify
from shared.pipeline.events import parse_event
from shared.pipeline.progress import archive_progress
from shared.pipeline.topology import STAGES
from tests.simulation.hosts import connect
from tests.simulation.world import World

if TYPE_CHECKING:
    from shared.operations.integrity.checks import Finding

EndState = dict[str, list[Any]]
MAX_ATTEMPTS = {"archives": 3, "messages": 3, "chunks": 5, "threads": 5}
# The maximum deliveries and calls of a run: far above the need, and far below a loop.
MAX_DELIVERIES = 1500
MAX_REPEATS = 8
_NOT_ASKED_FOR = frozenset({"locks", "failures", "runs", "audits"})  # neither progress nor checks read them
GRACE_SECONDS = 3 * 3600.0
LEASE_SECONDS = 150.0  # the lease of a crashed host has to expire, and its clock may be ahead
Rows = list[dict[str, Any]]


def broken_invariants(world: World, calm: EndState | None) -> list[str]:
    """Return every broken invariant in words."""
    found = [f"not settled: {line}" for line in world.unfinished()[:5]]
    hosts: list[Any] = world.broker.receivers
    if world.acts_open:
        found.append(f"{world.acts_open} requests were never answered")
    if not world.broker.is_idle() or any(host.is_busy() for host in hosts):
        found.append(f"messages are under way: {_waiting(world)}")
    if world.broker.locks():
        found.append("a message is still locked")
    found += [*world.violations[:3], *world.broker.repeated[:1]]
    found += [
        *_vectors(world),
        *_threads(world),
        *_summaries(world),
        *_deliveries(world),
        *_attempts(world),
        *_failures(world),
    ]
    if world.chance.plan.outages and world.scenario.away and not world.missed:
        found.append("nobody has noticed the outage")
    if world.broker.delivered > MAX_DELIVERIES * (1 + world.scenario.away_hours):
        found.append(f"{world.broker.delivered} deliveries: events go round in circles")
    if calm is not None:
        found += _differences(end_state(world), calm)
    return found or [*_leases(world), *_said_by_the_app(world)]


_known: dict[str, list[str]] = {}


def _said_by_the_app(world: World) -> list[str]:
    """Return the findings of progress and consistency checks, cached for end states that differ only in times."""
    key = _fingerprint(world)
    if key not in _known:
        _known[key] = world.loop.run_until_complete(_asked(world))
    return _known[key]


def _fingerprint(world: World) -> str:
    # The checks take virtual time, and every saved start of a small run must include it.
    run = f"{world.scenario.name} {ids.SOURCE_PARTITIONS}"
    digest = hashlib.blake2b(run.encode(), digest_size=16)
    for container in CONTAINERS:
        rows = [] if container in _NOT_ASKED_FOR else world.rows(container)
        digest.update(orjson.dumps([container, *map(_lasting, rows)], option=orjson.OPT_SORT_KEYS))
    vectors = {name: sorted(index.stored) for name, index in world.search.indexes.items()}
    digest.update(orjson.dumps([vectors, world.search.aliases], option=orjson.OPT_SORT_KEYS))
    return digest.hexdigest()


def _lasting(row: Mapping[str, Any]) -> dict[str, Any]:
    """Remove times, also from the lists of copies and deliveries."""
    return {
        name: [_lasting(item) for item in value] if name in ("copies", "deliveries") else value
        for name, value in row.items()
        if not _is_time(name)
    }


@cache
def _is_time(name: str) -> bool:
    return name.endswith("_at") or name in (
        "lastAttemptTime",
        "arrived",
        "ingestion_date",
        "_ts",
        "_etag",
        "_rid",
        "_self",
    )


def _leases(world: World) -> Iterator[str]:
    for lock in world.rows("locks"):
        retry = lock["id"].startswith(RETRY_LOCKS)
        if lock["owner"] and not retry and lock["expires"] > world.now() + LEASE_SECONDS:
            yield f"the lease {lock['id']} is held for longer than its life"


def _waiting(world: World) -> dict[str, int]:
    return {
        name: len(queue.messages) for name, queue in world.broker.namespace.queues.items() if queue.messages
    }


def _vectors(world: World) -> Iterator[str]:
    chunks = world.rows("chunks")
    for name, index in world.search.indexes.items():
        live = name == world.search.aliases.get(world.settings.SEARCH_INDEX)
        for chunk in chunks if live else []:
            vector = index.stored.get(chunk["id"])
            if chunk["embedding_generated"] and vector is None:
                yield f"chunk {chunk['id'][:12]} is flagged and has no vector"
            elif chunk["embedding_generated"] and vector and vector.get("thread_id") != chunk["thread_id"]:
                yield f"the vector of chunk {chunk['id'][:12]} is of thread {vector.get('thread_id')}"
        for key in index.stored.keys() - {chunk["id"] for chunk in chunks}:
            yield f"vector {key[:12]} has no chunk"


def _threads(world: World) -> Iterator[str]:
    threads = {thread["id"]: thread for thread in world.rows("threads")}
    messages, chunks = world.rows("messages"), world.rows("chunks")
    for document in (*messages, *chunks):
        thread = threads.get(document["thread_id"])
        if thread is None or thread.get("merged_into"):
            yield f"document {document['id'][:12]} is in thread {document['thread_id']}, which is merged or gone"
    copies = Counter(document["id"] for document in (*messages, *chunks))
    yield from (f"{number} copies of document {id_[:12]}" for id_, number in copies.items() if number > 1)
    counted = Counter(message["thread_id"] for message in messages)
    for thread in threads.values():
        if thread.get("merged_into"):
            continue
        if counted[thread["id"]] != thread["message_count"]:
            yield f"thread {thread['id']} counts {thread['message_count']} messages, has {counted[thread['id']]}"
        if thread.get("requesting") or thread["inexact"]:
            yield f"thread {thread['id']} is still claimed, or its dates and people are not set"
    yield from _membership(world, messages, chunks)


def _membership(world: World, messages: Rows, chunks: Rows) -> Iterator[str]:
    """Each stored message is in exactly one thread, and its entry and all its labels match."""
    homes: dict[str, list[str]] = {}
    archives = {entry["id"].partition("-")[2]: entry["archives"] for entry in world.entries("id")}
    for thread in world.rows("threads"):
        keys = [message_key(one["id"], thread["source"]) for one in thread["threading"].get("members", ())]
        known = sorted({archive for key in keys for archive in archives.get(key, ())})
        if keys and known != thread["archive_ids"]:
            yield f"thread {thread['id']} has archives {thread['archive_ids']}, its entries {known}"
        for key in keys:
            homes.setdefault(key, []).append(thread["id"])
    entries = {entry["id"].partition("-")[2]: entry for entry in world.entries("id")}
    stored = {message["id"]: message for message in messages}
    brought = {key for key, entry in entries.items() if entry["archives"]}
    for key in sorted(homes.keys() | stored.keys() | brought):
        home, message, entry = homes.get(key, []), stored.get(key), entries.get(key)
        if len(home) != 1 or message is None or entry is None:
            yield f"message {key} is a member of {home}, stored: {message is not None}, its entry: {entry}"
        else:
            yield from _mislabelled(message, entry, home[0])
    yield from _chunk_sets(stored, chunks)
    yield from (f"{todo['id']} is open" for todo in world.entries("todo"))


def _chunk_sets(stored: Mapping[str, dict[str, Any]], chunks: Rows) -> Iterator[str]:
    """Each chunk has the labels of its message and is in its set, and the set is complete."""
    own = Counter[str]()
    for chunk in chunks:
        of = stored.get(chunk["message_key"])
        if of is None or any(chunk[name] != of[name] for name in ("thread_id", "archive_ids")):
            yield f"chunk {chunk['id']} does not have the labels of its message"
        elif set_of_chunk(chunk["id"]) != of["chunk_set"]:
            yield f"chunk {chunk['id']} is not in the set of its message, {of['chunk_set']}"
        else:
            own[of["id"]] += 1
    for key, message in stored.items():
        if message["status"] == "processed" and message["chunk_count"] != own[key]:
            yield f"message {key} names {message['chunk_count']} chunks, {own[key]} are there"


def _mislabelled(message: dict[str, Any], entry: dict[str, Any], home: str) -> Iterator[str]:
    key = message["id"]
    if message["thread_id"] != home or entry["home"] != home:
        yield f"message {key} is in {home}, labelled {message['thread_id']}, by its entry in {entry['home']}"
    if sorted(entry["archives"]) != sorted(message["archive_ids"]):
        yield f"message {key} has archives {message['archive_ids']}, its entry {entry['archives']}"
    if message["copies"] != entry["copies"] or message["variant"] != entry["copies"][0]["variant"]:
        yield f"message {key} is not the first of the copies of its entry"


def _summaries(world: World) -> Iterator[str]:
    """The summary that a thread or digest names is stored, and its scope has the report of that summary alone."""
    summaries = {row["id"] for row in world.rows("summaries")}
    named = {scope: (row["summary_id"], row["summary_number"]) for scope, row in _namers(world)}
    for scope, (summary_id, _) in named.items():
        if summary_id not in summaries:
            yield f"{scope} names summary {summary_id}, which is not stored"
    reports = {row["scope"]: (row["summary_id"], row["summary_number"]) for row in world.rows("reports")}
    for scope in sorted(named.keys() | reports.keys()):
        if reports.get(scope) != named.get(scope):
            yield f"{scope} names {named.get(scope)}, its report is of {reports.get(scope)}"
    for thread in world.rows("threads"):
        done = not thread.get("merged_into") and thread["status"] == "processed"
        if done and thread["report_id"] != f"rpt-{thread['summary_id']}":
            yield f"thread {thread['id']} has summary {thread['summary_id']}, report {thread['report_id']}"


def _namers(world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each thread or digest that names a summary, by its scope."""
    for thread in world.rows("threads"):
        if not thread.get("merged_into") and thread["summary_id"]:
            yield thread["id"], thread
    for digest in world.rows("digests"):
        if digest["summary_id"]:
            yield digest["scope"], digest


def _deliveries(world: World) -> Iterator[str]:
    """Every report arrived, and so did every delivery with the status `delivered`."""
    for report in world.rows("reports"):
        for delivery in report["deliveries"]:
            came = world.received.get(delivery_id(report["report_id"], delivery["channel"]), 0)
            if delivery["status"] == "delivered" and not came:
                yield f"report {report['id']} did not come to the webhook that is said to have it"
            if delivery["status"] != "delivered":
                yield f"report {report['id']} is {delivery['status']} for webhook {delivery['channel']}"
            if came > MAX_REPEATS:
                yield f"report {report['id']} came {came} times"


def _attempts(world: World) -> Iterator[str]:
    for container, most in MAX_ATTEMPTS.items():
        for document in world.rows(container):
            if document["attemptCount"] > (1 if world.scenario.away else most):
                yield f"{container}/{document['id'][:12]} has {document['attemptCount']} attempts"
            if document["status"].startswith("failed"):
                yield f"{container}/{document['id'][:12]} is {document['status']}: {document.get('lastError')}"


def _failures(world: World) -> Iterator[str]:
    """Only queues of stages have dead letters, and a run without faults has no failures."""
    records = {(row["stage"], row["idempotency_key"]) for row in world.rows("failures")}
    if records and not (world.chance.spent or world.is_rough):
        yield f"{len(records)} events failed, and there was no fault"
    for queue, letters in world.broker.dead_letters().items():
        if queue not in {stage.name for stage in STAGES}:
            yield f"{len(letters)} dead letters of {queue}"
            continue
        for letter in letters:
            key = parse_event(letter.body).idempotency_key(queue)
            if (queue, key) not in records and not world.chance.spent:
                yield f"a dead letter of {queue} has no failure record"


def end_state(world: World) -> EndState:
    """Return everything that a reader could see, without times."""

    def rows(container: str, *names: str) -> list[Any]:
        return [tuple(str(row.get(name)) for name in names) for row in world.rows(container)]

    def current(container: str, *names: str) -> list[Any]:
        named = {row["summary_id"] for _, row in _namers(world)}
        found = [row for row in world.rows(container) if row["summary_id"] in named]
        return sorted(tuple(str(row.get(name)) for name in names) for row in found)

    alive = [row for row in world.rows("threads") if not row.get("merged_into")]
    names = ("id", "message_count", "status", "has_consensus", "archive_ids", "subject")
    vectors = [
        (_untimed(key), *(str(document.get(name)) for name in ("thread_id", "archive_ids", "text")))
        for index in world.search.indexes.values()
        for key, document in sorted(index.stored.items())
    ]
    chunks = rows(
        "chunks",
        "id",
        "thread_id",
        "archive_id",
        "archive_ids",
        "text",
        "embedding_generated",
        "embedding_model",
        "status",
    )
    return {
        "archives": rows("archives", "id", "status", "message_count"),
        "messages": rows(
            "messages", "id", "thread_id", "archive_ids", "archive_id", "status", "body_normalized"
        ),
        "chunks": sorted((_untimed(id_), *more) for id_, *more in chunks),
        "threads": [tuple(str(row.get(name)) for name in names) for row in alive],
        "summaries": current("summaries", "scope", "content_markdown"),
        "reports": current("reports", "scope", "title", "participants"),
        "vectors": sorted(vectors),
        # Resolved dead letters are stored in a container of their own.
        "blobs": sorted(blob for blob in world.blobs if blob[0] == ARCHIVES_CONTAINER),
    }


def _untimed(chunk_id: str) -> str:
    """Remove the version of the text, which comes from a clock."""
    key, _, *rest = chunk_id.split("-")
    return "-".join([key, *rest])


def _differences(found: Mapping[str, list[Any]], calm: Mapping[str, list[Any]]) -> Iterator[str]:
    for kind, expected in calm.items():
        more = [row for row in found[kind] if row not in expected]
        less = [row for row in expected if row not in found[kind]]
        if more or less:
            yield f"{kind} differ from the calm run's: first {_shown(more)} instead of {_shown(less)}"


def _shown(rows: Iterable[Any]) -> str:
    return str(next(iter(rows), None))[:400]


async def _asked(world: World) -> list[str]:
    """Return the app's own findings: progress of each archive, and the consistency checks."""
    world.cosmos.set_lag(0)
    clients = connect(world)
    found = []
    for archive in world.rows("archives"):
        progress = await archive_progress(clients, archive["id"])
        if not progress.complete:
            found.append(f"archive {archive['id']} is not complete: {progress.to_json()}")
    for index in world.search.indexes.values():
        index.show_all()
    found += await _damage(world)
    return found


async def _damage(world: World) -> list[str]:
    """Return the findings of the consistency checks, late enough to include everything."""
    findings: list[Finding] = []
    later = connect(world, skew=GRACE_SECONDS)
    run = await verify(later, VerifyOptions(found=findings.append))
    return [*(f"verification failed: {error}" for error in run.errors)] + [
        f"verification finds {finding.kind}: {finding.container}/{finding.id}: {finding.detail}"
        for finding in findings
    ]
