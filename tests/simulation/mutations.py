"""Mutations that remove one safety each. The simulation must find every one of them."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Store
from shared.core.ids import text_version_of_chunk
from shared.models.queries.named_query import NamedQuery
from shared.models.reports import Digest
from shared.models.threads import Chunk, Thread
from shared.operations import correcting, sweep
from shared.operations.removal import run as removal
from shared.operations.requeue import Requeuer
from shared.pipeline import readiness, runner
from shared.pipeline.event_types import ChunksPrepared, EmbeddingsGenerated, JSONParsed, SummaryComplete
from shared.pipeline.retry import Retry
from shared.pipeline.state import archives, threads
from shared.pipeline.state.summaries import next_number
from shared.publishing import webhooks
from shared.summarization import digests
from shared.thread_store import (
    chunk_sets,
    commit,
    message_documents,
    message_writer,
    moving,
    plan,
    source_state,
)
from stages import chunking, embedding, orchestration, reporting, summarization
from tests.simulation.app import replace_in
from tests.simulation.chance import SLOW_SECONDS, Fault, Outage, Plan, slow_day
from tests.simulation.cosmos import SimulatedContainer
from tests.simulation.hosts import Host
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.world import Rules

Change = Callable[[], None]
JOINED = ("overlap", "late_merge")  # archives that share a message, or join two threads
# Scenarios whose calm runs need no sweep. In `back` a version is requested again within the duplicate window,
# so the broker drops that request, and the sweep repeats it.
WITHOUT_SWEEP = tuple(name for name, one in SCENARIOS.items() if not one.away and name != "back")


MOVING = ("late_merge", "late_ancestor", "back", "overlap")
"""Scenarios in which stored messages move to another thread."""


@dataclass(frozen=True)
class Mutation:
    """A removed safety. `plan` and `scenarios` aim at it, because some safeties matter in few places."""

    text: str
    change: Change
    plan: Callable[[Plan], Plan] = lambda plan: plan
    scenarios: tuple[str, ...] = ()  # none: all default scenarios
    whole: bool = False  # each run begins with its scenario, because the failure shows early


MUTATIONS: dict[str, Mutation] = {}


def mutation(
    text: str,
    plan: Callable[[Plan], Plan] = lambda plan: plan,
    scenarios: tuple[str, ...] = (),
    *,
    whole: bool = False,
) -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        MUTATIONS[change.__name__.replace("_", "-")] = Mutation(text, change, plan, scenarios, whole)
        return change

    return add


def remove(name: str) -> None:
    MUTATIONS[name].change()


def _with(plan: Plan, *faults: Fault, **changes: Any) -> Plan:
    """Enable these faults in the plan at a high rate, because some safeties matter in few places."""
    more = max(plan.budget, 10)
    return replace(plan, **{"faults": plan.faults | set(faults), "budget": more, "rate": 0.06, **changes})


def _lagging(plan: Plan) -> Plan:
    return replace(plan, lag=5.0)


def _pausing(plan: Plan) -> Plan:
    return _with(plan, Fault.PAUSE, Fault.SLOW)


def _arriving_late(plan: Plan) -> Plan:
    """Delay writes until minutes after their caller gave up or died."""
    late = frozenset({Fault.SLOW, Fault.CRASH_AFTER, Fault.PAUSE})
    return replace(plan, faults=late, rate=0.12, budget=14, slow_calls=0.0, outages=(), restarts=())


def _standing_still(plan: Plan) -> Plan:
    return replace(_undisturbed(plan), faults=frozenset({Fault.PAUSE}), budget=6, rate=0.1)


def _crashing(plan: Plan) -> Plan:
    return _with(plan, Fault.CRASH_AFTER, Fault.CRASH_BEFORE)


def _only_crashes(plan: Plan) -> Plan:
    """Allow only so few crashes that no event is a dead letter, so that the sweep has nothing to do."""
    crashes = frozenset({Fault.CRASH_AFTER, Fault.CRASH_BEFORE})
    return replace(plan, faults=crashes, budget=8, rate=0.04, lag=0.0, outages=(), restarts=())


def _slow(plan: Plan) -> Plan:
    """Slow the calls. The hosts' clocks agree, so that a lease expires for both at the same time."""
    return replace(slow_day(plan), faults=frozenset(), skews=(0.0, 0.0), outages=(), restarts=(), lag=0.0)


def _redelivered(plan: Plan) -> Plan:
    """Redeliver on a slow day: the second of two workers starts after other stages have continued."""
    faults = frozenset({Fault.REDELIVER, Fault.REORDER})
    changes = replace(plan, faults=faults, budget=6, rate=0.3, lag=0.0, outages=(), restarts=())
    return replace(changes, slow_calls=0.3, slow_seconds=SLOW_SECONDS)


def _undisturbed(plan: Plan) -> Plan:
    return replace(plan, faults=frozenset(), lag=0.0, outages=(), restarts=())


def _away(plan: Plan) -> Plan:
    """Take Cosmos DB away at a time that differs from run to run."""
    return replace(plan, outages=(Outage("cosmos", 0.15 * plan.budget, 1000.0),))


def _away_when_digests_are_made(plan: Plan) -> Plan:
    """Take Cosmos DB away seconds after the housekeeping, until events become dead letters."""
    away = Outage("cosmos", 302.0 + 1.5 * plan.budget, 2300.0)
    return replace(_undisturbed(plan), outages=(away,), slow_calls=0.3, slow_seconds=3.0)


@mutation("a chunk is flagged as embedded before its vector is stored", _crashing)
def flag_before_vector() -> None:
    async def embed_group(chunks: Any, found: Any, model: Any, work: Any) -> Any:
        unstored = await embedding.unstored_vectors(work.clients)
        encoded = await embedding._encode(chunks, model, unstored, work)
        await work.clients.store.patch_all(Chunk, embedding._outcomes(encoded, model), work.session)
        await embedding._store_vectors(encoded, found, model, work)
        return encoded

    replace_in(embedding, "_embed_group", embed_group)


@mutation("a message is completed before the work; no sweep", _only_crashes, WITHOUT_SWEEP)
def complete_first() -> None:
    Host.completes_first = True
    Rules.sweeps = False


@mutation("a summary is given to its thread whatever the thread has")
def no_current_summary_check() -> None:
    replace_in(summarization, "supersedes", lambda _summary, _held, _thread: True)
    replace_in(threads, "_same_summary", lambda _thread: "true")


@mutation("a report takes the place of a later one", _standing_still, ("back", "growth"))
def report_number_ignored() -> None:
    async def stored(store: Any, report: Any, session: Session) -> Any:
        await store.upsert(report, session)
        return report, None

    replace_in(reporting, "store_report", stored)


@mutation("the report of a thread that was merged, or of a digest without threads, stays")
def report_not_withdrawn() -> None:
    for module in (reporting, commit, digests):
        replace_in(module, "withdraw_report", _nothing)


@mutation(
    "reporting does not look whether its thread still names a summary", _standing_still, ("late_merge",)
)
def report_stored_unchecked() -> None:
    replace_in(reporting, "withdraw_report", _nothing)


async def _nothing(*_: Any) -> None:
    return None


@mutation("a document that exists is written over; no sweep", _redelivered, JOINED, whole=True)
def create_overwrites() -> None:
    Rules.sweeps = False

    async def create_missing(self: Store, documents: Any, session: Session) -> set[str]:
        given = list(documents)
        await self.upsert_all(given, session)
        return {document.id for document in given}

    replace_in(Store, "create_missing", create_missing)


@mutation("every delivery starts the retries of its event anew", _away)
def attempts_per_delivery() -> None:
    original = Retry.of

    def of(delivery: Any, now: Any) -> Retry:
        return replace(original(delivery, now), races=0, backoffs=0)

    replace_in(Retry, "of", of)


@mutation("there is no sweep", _away)
def no_sweep() -> None:
    Rules.sweeps = False


@mutation("the sweep asks again without counting", _away)
def sweep_uncounted() -> None:
    async def count(*_: Any) -> bool:
        return True

    replace_in(Requeuer, "_count", count)


@mutation("documents are replaced whatever has become of them")
def no_etag() -> None:
    batch, replaced = SimulatedContainer.execute_item_batch, SimulatedContainer.replace_item

    async def without(self: Any, operations: Any, partition: str, **options: Any) -> Any:
        return await batch(self, [operation[:2] for operation in operations], partition, **options)

    async def replace_item(self: Any, id_: str, document: Any, **_: Any) -> Any:
        return await replaced(self, id_, document)

    replace_in(SimulatedContainer, "execute_item_batch", without)
    replace_in(SimulatedContainer, "replace_item", replace_item)


@mutation(
    "an archive or a thread is marked before its event is out; no sweep",
    _only_crashes,
    WITHOUT_SWEEP,
)
def done_before_announcing() -> None:
    async def announce(self: Any, outcome: Any, life: str, session: Any) -> None:
        if outcome.after_announcing is not None:
            await outcome.after_announcing()
        await original(self, outcome, life, session)

    original = runner.StageRunner._announce
    runner.StageRunner._announce = announce  # type: ignore[method-assign]
    Rules.sweeps = False


@mutation("orchestration claims a version for ever; no sweep", _only_crashes, WITHOUT_SWEEP)
def claim_for_ever() -> None:
    def unclaimed(version: str, _claimer: str, _now: Any) -> str:
        asked = f"NOT IS_STRING(c.content_hash) OR c.content_hash != '{version}'"
        return f"({asked}) AND (NOT IS_OBJECT(c.requesting) OR c.requesting.version != '{version}')"

    replace_in(threads, "_unclaimed", unclaimed)
    Rules.sweeps = False


@mutation("session tokens are not sent", _lagging)
def no_session_token() -> None:
    replace_in(Session, "token", lambda _self, _container: "0:-1#0")


@mutation(
    "messages are processed and chunks embedded whatever they are by then; no sweep",
    _pausing,
    ("late_merge", "late_ancestor"),
)
def flag_unconditional() -> None:
    replace_in(archives, "_is", lambda _name, _number: "true")
    Rules.sweeps = False


@mutation("the duplicate window of the topic is one second", _crashing)
def duplicate_window_too_short() -> None:
    Rules.config = deepcopy(Rules.config)
    for topic in Rules.config["UserConfig"]["Namespaces"][0]["Topics"]:
        topic["Properties"]["DuplicateDetectionHistoryTimeWindow"] = "PT1S"


@mutation("a retry number that was seen is worked on again", _crashing)
def retry_number_ignored() -> None:
    async def claimed(*_: Any) -> bool:
        return True

    replace_in(Retry, "claim", claimed)


# Controls that remove nothing important. If they fail, the plans above are wrong.


@mutation("none but the sweep, which has nothing to do: this one must hold", _only_crashes, WITHOUT_SWEEP)
def control() -> None:
    Rules.sweeps = False


@mutation(
    "the same, where messages are delivered again: this one must hold", _redelivered, JOINED, whole=True
)
def control_redelivered() -> None:
    Rules.sweeps = False


@mutation("the same without any fault: this one must hold", _undisturbed, ("late_merge", "overlap"))
def control_undisturbed() -> None:
    Rules.sweeps = False


@mutation(
    "none, with writes that arrive late: this one must hold",
    _arriving_late,
    ("deletion_at_once",),
    whole=True,
)
def control_late() -> None:
    """Remove nothing."""


@mutation("none, on slow days: this one must hold", _slow, ("overlap", "growth", "late_merge"))
def control_slow() -> None:
    """Remove nothing."""


@mutation("a stage reads replicas instead of refreshing its session at the primary", _lagging)
def no_refresh() -> None:
    async def behind(*_: Any) -> None:
        return None

    replace_in(Store, "refresh", behind)
    replace_in(Store, "find_latest", Store.find)


@mutation("chunking does not pass the label of a message on", _pausing, ("late_merge", "overlap"))
def label_not_passed_on() -> None:
    relabelled = chunk_sets.update_labels  # type: ignore[attr-defined]

    def without_thread(id_: str, labels: Any, *, is_pending: bool) -> Any:
        patch = relabelled(id_, labels, is_pending=is_pending)
        return replace(patch, set={name: value for name, value in patch.set.items() if name != "thread_id"})

    replace_in(chunk_sets, "update_labels", without_thread)


@mutation("chunks of an earlier text stay", scenarios=("replaced",))
def stale_chunks_kept() -> None:
    async def kept(*_: Any) -> set[str]:
        return set()

    for module in (chunking, sweep):
        replace_in(module, "delete_stale", kept)


@mutation(
    "chunking deletes the chunks of any text but that which it has read",
    _standing_still,
    ("replaced",),
    whole=True,
)
def newer_chunks_deleted() -> None:
    load, states = chunking.load_announced_messages, chunk_sets.message_states  # type: ignore[attr-defined]
    read: dict[str, Any] = {}

    async def loaded(*given: Any) -> Any:
        messages = await load(*given)
        read.update({message.id: message.model_dump(mode="json") for message in messages})
        return messages

    async def as_read(clients: Any, keys: Any, session: Session) -> Any:
        return {**await states(clients, keys, session), **{key: read[key] for key in keys if key in read}}

    def another_text(id_: str, message: Any) -> bool:
        return message is None or text_version_of_chunk(id_) != message["text_version"]

    replace_in(chunking, "load_announced_messages", loaded)
    replace_in(chunk_sets, "message_states", as_read)
    replace_in(chunk_sets, "is_stale", another_text)


@mutation(
    "embedding keeps the vectors of chunks that were deleted meanwhile",
    _standing_still,
    ("replaced", "deletion_at_once"),
)
def vector_of_deleted_chunk_kept() -> None:
    async def kept(clients: Any, ids: Any, session: Session) -> set[str]:
        rows = await chunk_sets._labels_now(clients, ids, session)
        return {*ids} - {row["id"] for row in rows}

    replace_in(embedding, "delete_lost_vectors", kept)
    replace_in(moving, "delete_lost_vectors", kept)


@mutation("an event has the same identity whatever the versions are; no sweep", scenarios=MOVING, whole=True)
def identity_without_version() -> None:
    Rules.sweeps = False
    for event, left in (
        (JSONParsed, "source_version"),
        (ChunksPrepared, "versions"),
        (EmbeddingsGenerated, "versions"),
    ):
        replace_in(event, "identity", tuple(name for name in event.identity if name != left))


@mutation(
    "a message keeps the archives that it has, whatever its entry says",
    scenarios=("deletion", "deletion_at_once"),
)
def archives_by_message() -> None:
    decide = message_writer.MessageWriter._decide

    def by_message(self: Any, writes: Any, entry: Any, home: str, row: Any, *more: Any) -> None:
        known = {*entry["archives"], *(row["archive_ids"] if row else ())}
        decide(self, writes, {**entry, "archives": sorted(known)}, home, row, *more)

    replace_in(message_writer.MessageWriter, "_decide", by_message)


@mutation(
    "a create that finds the documents there does not tell the session; no sweep",
    _lagging,
    ("growth", "overlap"),
)
def refused_create_unseen() -> None:
    Rules.sweeps = False
    created = Store._created

    async def unseen(self: Store, container: str, partition: str, batch: Any, session: Session) -> set[str]:
        own = Session(session.tokens())
        ids = await created(self, container, partition, batch, own)
        if ids:
            session.merge(own)
        return ids

    replace_in(Store, "_created", unseen)


@mutation("a redirect is not followed; no sweep", _undisturbed, ("late_merge", "overlap"))
def redirects_ignored() -> None:
    Rules.sweeps = False

    async def same(_clients: Any, thread_id: str, _session: Any) -> str:
        return thread_id

    replace_in(orchestration, "resolve_thread", same)

    async def found(clients: Any, thread_id: str, session: Session) -> Any:
        return await clients.store.find(Thread, thread_id, session)

    replace_in(summarization, "find_resolved", found)


@mutation(
    "readiness does not wait for all messages of a thread",
    _pausing,
    ("late_merge", "growth", "overlap"),
    whole=True,
)
def readiness_ignores_members() -> None:
    replace_in(readiness, "has_all_messages", lambda _count, _stored: True)


@mutation("a lost report is nobody's to find", _away)
def unreported_not_swept() -> None:
    async def nothing(_self: Any) -> None:
        return None

    replace_in(sweep._Sweep, "_reopen_unreported", nothing)


@mutation("a revived summary is announced under its old id", _undisturbed, ("back",))
def revived_under_old_id() -> None:
    replace_in(SummaryComplete, "identity", ("thread_id", "summary_id", "llm_model"))


@mutation("a commit does not look whether the version is as it was read")
def version_unchecked() -> None:
    raising = plan.CommitPlan._raising

    def unchecked(self: Any, source: str, now: Any) -> Any:
        operation = raising(self, source, now)
        kind = "upsert" if operation.kind == "create" else operation.kind
        return replace(operation, kind=kind, condition=None)

    replace_in(plan.CommitPlan, "_raising", unchecked)


@mutation(
    "messages are labelled without a second look at the version; no sweep",
    _pausing,
    MOVING,
    whole=True,
)
def look_at_replica() -> None:
    Rules.sweeps = False

    async def unchanged(_self: Any) -> bool:
        return True

    replace_in(source_state.SourceState, "is_unchanged", unchanged)


@mutation("of two copies the one counts that is stored last", scenarios=("late_ancestor", "overlap"))
def copy_by_message() -> None:
    def last_first(self: Any, stored: Any) -> Any:
        return [*self.copies, *stored]

    replace_in(message_documents.IncomingMessage, "copies_with", last_first)


@mutation("a deletion leaves no tombstone", _standing_still, ("deletion_at_once",), whole=True)
def no_tombstone() -> None:
    replace_in(commit.ThreadCommit, "bury", _nothing)


@mutation("a commit that moves messages leaves no todo; no sweep", _only_crashes, MOVING, whole=True)
def no_todo() -> None:
    Rules.sweeps = False

    def none(*_: Any) -> None:
        return None

    replace_in(plan.Planner, "_add_todo", none)


@mutation("a delivery is said to have arrived before it is sent", _crashing, ("webhooks",))
def delivery_noted_first() -> None:
    send = webhooks._DeliveryRun._send

    async def noted_first(self: Any, hook: Any, report: Any, index: int) -> Any:
        noted = await webhooks.mark_delivered(self.clients.store, report, index, self.now)  # type: ignore[attr-defined]
        return await send(self, hook, noted, index)

    replace_in(webhooks._DeliveryRun, "_send", noted_first)


@mutation("any refresh of a digest may name its summary", _standing_still, ("digests",))
def digest_named_by_any() -> None:
    async def named(store: Any, digest: Any, summary_id: Any, now: Any, session: Any) -> int:
        number = next_number(digest.summary_number, now)
        said = {"named": digest.touches, "summary_id": summary_id, "summary_number": number}
        await store.patch(Digest, Patch(digest.id, set=said), session)
        return number

    replace_in(digests, "name_digest", named)


@mutation(
    "a digest whose report does not come is not announced again",
    _away_when_digests_are_made,
    ("digests",),
    whole=True,
)
def digest_announced_once() -> None:
    text = "SELECT c.scope FROM c WHERE c.touches > c.made ORDER BY c._ts"
    touched = NamedQuery("touched", "digests", text)
    replace_in(digests, "DUE_DIGESTS", touched)


@mutation(
    "a refresh of a digest counts touches that came while it worked as seen", _standing_still, ("digests",)
)
def touches_taken_for_seen() -> None:
    made = digests.finish_digest  # type: ignore[attr-defined]

    async def all_seen(store: Any, digest: Any) -> None:
        latest = await store.read(Digest, digest.id, Session())
        await made(store, latest)

    replace_in(digests, "finish_digest", all_seen)


@mutation(
    "a deletion does not look again for what arrives late",
    _arriving_late,
    ("deletion_at_once",),
    whole=True,
)
def no_second_look() -> None:
    async def only_noted(self: Any) -> Any:
        self._removal.looked_again_at = self._runtime.now()
        await self._save()
        return self._removal

    replace_in(removal._Remover, "check_again", only_noted)


@mutation("a correction does not have its thread made anew", scenarios=("corrections",))
def correction_not_counted() -> None:
    async def nothing(*_: Any) -> bool:
        return True

    replace_in(correcting, "count_correction", nothing)
