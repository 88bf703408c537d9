"""A run: services, hosts with the real Functions, a scenario and faults, and then a calm until all is quiet."""

import asyncio
from dataclasses import replace
from functools import cache
from typing import Any

from localcloud.testing import CosmosEngine
from shared.settings.app import Settings, load_settings
from tests.simulation.app import QUEUES
from tests.simulation.chance import SLOW_SECONDS, Chance, Plan
from tests.simulation.cosmos import DATABASE, Engine
from tests.simulation.hosts import EPOCH, Host
from tests.simulation.loop import NOBODY, VirtualLoop
from tests.simulation.moments import Saved, copied_indexes, restore_broker, saved_broker
from tests.simulation.network import Network
from tests.simulation.scenarios import Act, Scenario
from tests.simulation.search import SearchServer
from tests.simulation.servicebus import CONFIG, Broker
from tests.simulation.trace import Trace
from tests.support.cosmos_engine import container_definitions

MODEL = "toy"
SWEEP_SECONDS, HOUSEKEEPING_SECONDS = 900.0, 300.0
FAULTS_END = 2 * 3600.0  # the calm begins then
DEADLINE = 48 * 3600.0
FORGOTTEN_SECONDS = 600.0  # longer than the duplicate window
FIRST_LOOK, LATER_LOOK = 20.0, 300.0
BASE_SETTINGS = {
    "COSMOS_ENDPOINT": "http://cosmos.example.org",
    "COSMOS_KEY": "bm9uZQ==",
    "SEARCH_ENDPOINT": "https://search.example.org",
    "SEARCH_KEY": "none",
    "SERVICEBUS_CONNECTION": "none",
    "STORAGE_CONNECTION": "none",
    "EMBEDDING_MODEL": MODEL,
    "RETRY_JOB_STUCK_THRESHOLD_HOURS": "2",
}
# No fault causes these.
BUGS = (
    "AttributeError",
    "NameError",
    "TypeError",
    "KeyError",
    "ValueError",
    "NotImplementedError",
)
_servers: dict[bool, CosmosEngine | CosmosEngine.Quick] = {}


class Rules:
    """The parts of a run that a mutation may change."""

    sweeps = True
    config = CONFIG
    quick = True  # the engine of Cosmos DB on dictionaries
    through_sdks = False


class World:
    def __init__(
        self,
        scenario: Scenario,
        plan: Plan,
        seed: int,
        saved: Saved | None = None,
        *,
        sequential: bool = False,
        moments: list[Saved] | None = None,
    ) -> None:
        """Create a run that starts from `saved`, an earlier run's state, and collects `moments`."""
        self.scenario, self.plan, self.seed = scenario, plan, seed
        self.is_rough = bool(plan.outages or plan.restarts or plan.lag or plan.slow_seconds > SLOW_SECONDS)
        self._sequential, self._moments = sequential, moments
        self.chance = Chance(plan, seed)
        self.started_at = saved.at if saved is not None else 0.0
        self.through_sdks = Rules.through_sdks
        self.loop = VirtualLoop(self.chance.think, self.started_at)
        self.trace = Trace()
        self.network = Network(self.loop, self.chance, self.trace, is_down=self.is_down)
        self.settings = _settings(scenario, plan)
        self.cosmos = _cosmos(self, saved)
        self.cosmos.set_lag(plan.lag)
        self.search = SearchServer(self.loop.time, plan.index_delay)
        self.blobs: dict[tuple[str, str], bytes] = {}
        if saved is not None:
            self.search.indexes = copied_indexes(saved.indexes)
            self.search.aliases.update(saved.aliases)
            self.blobs.update(saved.blobs)
        self.broker = Broker(self.network, self, Rules.config, list(QUEUES))
        if moments is not None:
            self.broker.may_deliver = self._note_moment
        if saved is not None and saved.broker is not None:
            restore_broker(self.broker, saved.broker)
        self.graves: list[Host] = []
        self.errors: dict[str, int] = {}
        self.missed = 0  # calls to a service that was away
        # The deliveries that a webhook received, with their counts.
        self.received: dict[str, int] = dict(saved.received) if saved is not None else {}
        # The monitors' records.
        self.violations: list[str] = []
        self.holders: dict[str, dict[int, Any]] = {}
        self.retried: dict[tuple[str, int], str] = {}
        self.requeued: set[tuple[str, str, int]] = set()
        self.copies: dict[str, set[str]] = {}
        self.announced: dict[str, Any] = {}
        numbers = range(len(scenario.acts)) if saved is None or saved.acts is None else saved.acts
        self._acts = [(number, scenario.acts[number]) for number in numbers]
        self._acting = 0
        self.lasted = 0.0
        self._rows: dict[str, list[dict[str, Any]]] | None = None

    @property
    def acts_open(self) -> int:
        return len(self._acts)

    def now(self) -> float:
        """Return the time of the services' clock."""
        return EPOCH + self.loop.time()

    def rows(self, container: str) -> list[dict[str, Any]]:
        """Return every document without the network. After the end of the run each container is read once."""
        if self._rows is None:
            return self._stored(container)
        if container not in self._rows:
            self._rows[container] = self._stored(container)
        return self._rows[container]

    def _stored(self, container: str) -> list[dict[str, Any]]:
        """Return the documents without the entries of threads, which `entries` returns."""
        return [row for row in self.cosmos.rows(container) if "kind" not in row or container != "threads"]

    def entries(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in self.cosmos.rows("threads") if row.get("kind") == kind]

    def elapsed(self) -> float:
        """Return the seconds since this run began."""
        return self.loop.time() - self.started_at

    def save(self) -> Saved:
        """Return a start for another run, at a time when the broker has forgotten this run."""
        for index in self.search.indexes.values():
            index.show_all()
        return self._saved(self.loop.time() + FORGOTTEN_SECONDS)

    def _saved(self, at: float, **more: Any) -> Saved:
        indexes, aliases = copied_indexes(self.search.indexes), dict(self.search.aliases)
        return Saved(at, self.cosmos.save(), indexes, aliases, dict(self.blobs), dict(self.received), **more)

    def _note_moment(self) -> bool:
        """Save a moment if no host is busy, because then all state is stored. Return whether it was saved."""
        hosts: list[Any] = self.broker.receivers
        if self._moments is None or self._acting or any(host.is_busy() for host in hosts):
            return False
        acts = tuple(number for number, _ in self._acts)
        self._moments.append(self._saved(self.loop.time(), broker=saved_broker(self.broker), acts=acts))
        return True

    def count_error(self, where: str, error: Exception) -> None:
        text = f"{where}: {type(error).__name__}: {str(error)[:120]}"
        self.errors[text] = self.errors.get(text, 0) + 1
        if any(bug in text for bug in BUGS):
            self.violations.append(text)

    def run(self) -> "World":
        self.loop.run_until_complete(self._main())
        return self

    async def _main(self) -> None:
        for slot in range(self.plan.hosts):
            Host(self, slot)
        for restart in self.plan.restarts:
            if restart.service == "bus":
                self.loop.call_later(restart.start, self.broker.forget_locks, context=NOBODY)
        timers = [self._repeat("sweep", SWEEP_SECONDS)] if Rules.sweeps else []
        timers += [self._repeat("housekeeping", HOUSEKEEPING_SECONDS)] if self.scenario.chores else []
        running = [asyncio.create_task(timer) for timer in timers]
        running.append(asyncio.create_task(self._act_all()))
        await self._until_quiet()
        for task in running:
            task.cancel()
        self.lasted, self._rows = self.elapsed(), {}

    async def _act_all(self) -> None:
        if self._sequential:
            for number, act in list(self._acts):
                await self._act(number, act)
                while not self.is_quiet():
                    await asyncio.sleep(1)
        else:
            await asyncio.gather(*(self._act(number, act) for number, act in self._acts))

    async def _act(self, number: int, act: Act) -> None:
        if not self._sequential:
            await asyncio.sleep(self.chance.draw.uniform(act.earliest, act.latest))
        while act.after_others and self.acts_open > 1:
            await asyncio.sleep(0.1)
        self._acting += 1
        while not await self._acted(act):
            await asyncio.sleep(60 if self.scenario.away else 5)
        self._acting -= 1
        self._acts.remove((number, act))
        if self._moments is not None:
            self.broker.changed()

    async def _acted(self, act: Act) -> bool:
        host = self.some_host()
        if host is None:
            return False
        self.trace(self.loop.time(), host.name, act.name)
        task = host.spawn(act.work(host.clients))  # type: ignore[arg-type]
        await host.outcome_of(task)
        if not task.done() or task.cancelled():
            return False
        error = task.exception()
        if error is not None:
            self.count_error(act.name, error)  # type: ignore[arg-type]
        return error is None

    async def _repeat(self, name: str, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            host = self.some_host()
            if host is not None:
                self.trace(self.loop.time(), host.name, "timer", name)
                host.spawn(host.timer(name))

    async def _until_quiet(self) -> None:
        away = 3600 * self.scenario.away_hours
        while self.elapsed() < DEADLINE + away:
            await asyncio.sleep(FIRST_LOOK if self.elapsed() < 20 * FIRST_LOOK else LATER_LOOK)
            if self.elapsed() >= FAULTS_END + away:
                self._calm_down()
            if not self.acts_open and self.is_quiet():
                return

    def _calm_down(self) -> None:
        self.chance.stop()
        if self.cosmos.lag:
            self.cosmos.set_lag(0)
        self.plan = replace(self.plan, outages=(), restarts=())

    def some_host(self) -> Host | None:
        hosts: list[Any] = [host for host in self.broker.receivers if host.alive]
        return hosts[int(self.chance.draw.random() * len(hosts))] if hosts else None

    def is_down(self, service: str) -> bool:
        if not (self.plan.outages or self.plan.restarts):
            return False
        now = self.elapsed()
        down = any(
            outage.service == service and outage.start <= now < outage.end
            for outage in (*self.plan.outages, *self.plan.restarts)
        )
        self.missed += down
        return down

    def is_quiet(self) -> bool:
        """Return whether nothing is in flight and nothing waits for the sweep."""
        hosts: list[Any] = self.broker.receivers
        if any(host.is_busy() or host.paused for host in hosts) or not self.broker.is_idle():
            return False
        return not self.unfinished()

    def unfinished(self) -> list[str]:
        """Return the work that is left."""
        found = [
            f"{container}/{document['id'][:12]} is {document['status']}, attempts {document['attemptCount']},"
            f" {document.get('lastError')}"
            for container in ("archives", "messages", "chunks", "threads")
            for document in self.rows(container)
            if document["status"] == "pending" and not document.get("merged_into")
        ]
        found += [
            f"threads/{thread['id'][:12]} has summary {thread['summary_id']}, report {thread.get('report_id')}"
            for thread in self.rows("threads")
            if not thread.get("merged_into")
            and thread["status"] == "processed"
            and thread.get("report_id") != f"rpt-{thread['summary_id']}"
        ]
        found += [f"threads/{todo['id']} is not finished" for todo in self.entries("todo")]
        found += [
            f"removals/{removal['id'][:12]} is {removal['status']}"
            for removal in self.rows("removals")
            if removal["status"] not in ("succeeded", "failed")
            or (removal["status"] == "succeeded" and not removal.get("looked_again_at"))
        ]
        if "digests due" in self.scenario.chores:
            found += [
                f"digests/{digest['scope']} was touched {digest['touches']} times, made {digest['made']},"
                f" has summary {digest['summary_id']}, report {digest['report_id']}"
                for digest in self.rows("digests")
                if digest["touches"] > digest["made"] or (digest["summary_id"] and not digest["report_id"])
            ]
        found += [
            f"reports/{report['id']} is not delivered: {delivery['status']}, {delivery['attempts']} attempts"
            for report in self.rows("reports")
            for delivery in report["deliveries"]
            if delivery["status"] == "pending"
        ]
        if self.scenario.away:
            found += self._alarms()
        archives = self.rows("archives")
        if not self.acts_open and len(archives) != self.scenario.archives:
            found.append(f"there are {len(archives)} archives, not {self.scenario.archives}")
        return found

    def _alarms(self) -> list[str]:
        """Return the alarms that would still fire: dead letters, and the alarms of the last sweep."""
        found = [
            f"{len(letters)} dead letters of {name}" for name, letters in self.broker.dead_letters().items()
        ]
        sweeps = [run for run in self.rows("runs") if run["kind"] == "sweep"]
        last = max(sweeps, key=lambda run: str(run["started_at"]), default=None)
        if last is not None and (last["circuits"] or last["status"] == "failed"):
            found.append(f"the last sweep is {last['status']}, circuits {last['circuits']}")
        return found

    def close(self) -> None:
        self.graves.clear()
        self.loop.close()


def _settings(scenario: Scenario, plan: Plan) -> Settings:
    given = {"ORCHESTRATION_QUIET_SECONDS": str(plan.quiet_seconds), **scenario.settings}
    return _loaded(tuple({**BASE_SETTINGS, **given}.items()))


@cache
def _loaded(given: tuple[tuple[str, str], ...]) -> Settings:
    return load_settings(dict(given))


def let_go() -> None:
    """Release the references of the services to the last run, because frozen objects are never collected."""
    for server in _servers.values():
        if isinstance(server, CosmosEngine.Quick):
            server.restart(None, None)


def _cosmos(world: World, saved: Saved | None) -> Engine:
    if Rules.quick not in _servers:
        made = container_definitions()
        _servers[Rules.quick] = CosmosEngine.Quick(made) if Rules.quick else CosmosEngine(DATABASE, made)
    server: Engine = _servers[Rules.quick]
    server.restart(world, saved.containers if saved is not None else None)
    return server
