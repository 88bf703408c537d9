"""The threads and entries of a source at one version, read as plans need them."""

from collections.abc import Collection, Iterable, Mapping

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.core.ids import (
    message_entry_id,
    message_key,
    source_key,
    tombstone_entry_id,
    version_entry_id,
)
from shared.models.containers import read_document
from shared.models.queries.threads import OF_SOURCE_BY_ID, OPEN_ENTRIES
from shared.models.threads import SourceVersion, Thread
from shared.thread_store.entries import Row
from shared.threading.assignment import ThreadState

MAX_REDIRECTS = 50  # damaged documents may point to each other


class SourceState:
    """The version is read first, so a commit on that version proves that nothing else has changed since."""

    def __init__(self, store: Store, source: str, session: Session, archive_id: str | None = None) -> None:
        self._store, self._session = store, session
        self.source = source
        self.partition = source_key(source)
        self._archive_id = archive_id
        self.version = 0
        """0 if the source has no version yet."""
        self.entries: dict[str, Row | None] = {}
        self.threads: dict[str, Thread | None] = {}
        """Threads and redirects."""
        self.todos: list[Row] = []
        self.placements: dict[str, str] = {}
        self.tombstone: Row | None = None
        self._states: dict[str, ThreadState] = {}

    async def read(self) -> None:
        """Read the version and the open entries, and discard all that was read before."""
        found = await self._store.find(SourceVersion, version_entry_id(self.source), self._session)
        self.version = found.version if found is not None else 0
        self.entries, self.threads, self._states = {}, {}, {}
        self.todos, self.placements, self.tombstone = [], {}, None
        tombstone = tombstone_entry_id(self.source, self._archive_id) if self._archive_id else "-"
        rows = self._store.query(
            OPEN_ENTRIES, self._session, partition=self.partition, source=self.source, tombstone=tombstone
        )
        async for row in rows:
            if row["kind"] == "todo":
                self.todos.append(row)
            elif row["kind"] == "placement":
                self.placements[row["message_id"]] = row["parent"]
            else:
                self.tombstone = row

    async def is_unchanged(self) -> bool:
        """Return whether the primary still has the version that was read."""
        found = await self._store.find_latest(SourceVersion, version_entry_id(self.source), self._session)
        return (found.version if found is not None else 0) == self.version

    async def need(self, entries: Iterable[str], threads: Iterable[str] = ()) -> None:
        """Read the entries and threads that are not known yet, and the targets of redirects."""
        names = [id_ for id_ in dict.fromkeys(entries) if id_ not in self.entries]
        wanted = {name for name in threads if name not in self.threads}
        while names or wanted:
            rows = await self._store.query_by_ids(
                OF_SOURCE_BY_ID, [*names, *sorted(wanted)], self._session, partition=self.partition
            )
            self.entries.update(dict.fromkeys(names))
            self.threads.update(dict.fromkeys(wanted))
            for row in rows:
                if row["id"] in wanted:
                    self.threads[row["id"]] = read_document(Thread, row)
                else:
                    self.entries[row["id"]] = row
            targets = {
                found.merged_into
                for name in wanted
                if (found := self.threads[name]) is not None and found.merged_into
            }
            names, wanted = [], targets - self.threads.keys()

    def resolved(self, name: str) -> str:
        """Return the id of the thread at the end of the redirects."""
        for _ in range(MAX_REDIRECTS):
            thread = self.threads.get(name)
            if thread is None or not thread.merged_into:
                break
            name = thread.merged_into
        return name

    def living(self, names: Iterable[str]) -> dict[str, Thread]:
        """Return the threads that exist, after redirects."""
        found = {name: self.threads.get(name) for name in sorted({self.resolved(name) for name in names})}
        return {
            name: thread for name, thread in found.items() if thread is not None and not thread.merged_into
        }

    def state_of(self, name: str) -> ThreadState:
        if name not in self._states:
            thread = self.threads[name]
            if thread is None:
                raise LookupError(f"there is no thread {name}")
            self._states[name] = ThreadState.from_document(thread.threading)
        return self._states[name]

    def todo_threads(self) -> set[str]:
        """Return the threads that members have moved to, which entries may not name yet."""
        return {name for todo in self.todos for name in todo["threads"]}

    async def homes(self, nodes: Collection[str]) -> dict[str, str]:
        """Return the thread of each of these mails that is in a thread."""
        keys = {node: message_entry_id(message_key(node, self.source)) for node in nodes}
        await self.need(keys.values())
        hints = {
            node: entry["home"]
            for node, id_ in keys.items()
            if (entry := self.entries[id_]) is not None and entry["home"]
        }
        moved = self.todo_threads()
        await self.need([], {*hints.values(), *moved})
        found: dict[str, str] = {}
        others = self.living(moved)
        for node in nodes:
            candidates = [*self.living([hints[node]] if node in hints else []), *others]
            home = next((name for name in candidates if node in self.state_of(name).members), None)
            if home is not None:
                found[node] = home
        return found

    def apply(
        self,
        version: int,
        entries: Mapping[str, Row | None],
        threads: Mapping[str, Thread | None],
        states: Mapping[str, ThreadState],
        todo: Row | None,
    ) -> None:
        """Update the state after this worker's own commit."""
        self.version = version
        self.entries.update(entries)
        for name, thread in threads.items():
            self.threads[name] = thread
            self._states.pop(name, None)
        self._states.update(states)
        if todo is not None:
            self.todos = [*self.todos, todo]

    def forget_thread(self, name: str) -> None:
        """Discard a thread that changed apart from the version, so that it is read again."""
        self.threads.pop(name, None)
        self._states.pop(name, None)
