"""Session consistency: session tokens, and a replica that lags behind.

Each write reaches the replica after the configured lag. The replica serves readers without a session token,
which may see old data. A reader whose token is ahead of the replica gets 404/1002, as from a read region that
lags. The SDK then retries at the write region, which is the primary here.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import NamedTuple

from localcloud.clock import Clock
from localcloud.cosmos.container import Container
from localcloud.cosmos.errors import bad_request, session_not_available
from localcloud.cosmos.store import Row, Store

MAX_TOKEN_LENGTH = 64 * 1024


def session_token(container_range: int, lsn: int) -> str:
    return f"{container_range}:-1#{lsn}"


def parse_token(token: str) -> dict[int, int]:
    """Return the sequence number of each range in a token such as `0:-1#12,1:-1#7`."""
    if len(token) > MAX_TOKEN_LENGTH:
        raise bad_request("the session token is too long")
    seen: dict[int, int] = {}
    for part in token.split(","):
        range_text, _, vector = part.strip().partition(":")
        segments = vector.split("#")
        lsn_text = segments[1] if len(segments) > 1 else segments[0]
        try:
            seen[int(range_text)] = int(lsn_text)
        except ValueError:
            raise bad_request(f"the session token {part[:60]!r} is malformed") from None
    return seen


class View(NamedTuple):
    """The data of a container that a reader sees."""

    table: str
    lsns: list[int]

    def check(self, seen: dict[int, int], ranges: range | tuple[int, ...]) -> None:
        for number in ranges:
            if seen.get(number, 0) > self.lsns[number]:
                raise session_not_available()


@dataclass
class _Change:
    due: float
    container: Container
    range: int
    lsn: int
    k: int
    row: Row | None  # None: deleted


class Replica:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.lag = 0.0
        self._store = store
        self._clock = clock
        self._pending: deque[_Change] = deque()
        self._lsns: dict[int, list[int]] = {}

    def set_lag(self, seconds: float, containers: list[Container]) -> None:
        """Change the lag.

        Pending writes keep their times, unless the new lag is 0: then they apply at once.
        """
        if seconds and not self.lag:
            for container in containers:
                self.add(container, lag=seconds)
        elif not seconds and self.lag:
            for container in containers:
                self.remove(container)
            self._pending.clear()
        self.lag = seconds

    def add(self, container: Container, *, lag: float | None = None) -> None:
        if not (self.lag if lag is None else lag):
            return
        self._store.create_table(container.replica_table, [])
        self._store.execute(f"INSERT INTO {container.replica_table} SELECT * FROM main.{container.table}")
        self._lsns[container.number] = list(container.lsns)

    def remove(self, container: Container) -> None:
        if self._lsns.pop(container.number, None) is not None:
            self._store.execute(f"DROP TABLE {container.replica_table}")

    def record(self, container: Container, range_number: int, k: int, row: Row | None) -> None:
        if self.lag:
            lsn = container.lsns[range_number]
            due = self._clock.now() + self.lag
            self._pending.append(_Change(due, container, range_number, lsn, k, row))

    def position(self) -> int:
        return len(self._pending)

    def rewind(self, position: int) -> None:
        """Drop the changes after a position, because their transaction failed."""
        while len(self._pending) > position:
            self._pending.pop()

    def primary(self, container: Container) -> View:
        return View(container.table, container.lsns)

    def view(self, container: Container) -> View:
        """Return the replica as of now, or the primary if there is no lag."""
        if not self.lag:
            return self.primary(container)
        now = self._clock.now()
        while self._pending and self._pending[0].due <= now:
            self._apply(self._pending.popleft())
        return View(container.replica_table, self._lsns[container.number])

    def _apply(self, change: _Change) -> None:
        lsns = self._lsns.get(change.container.number)
        if lsns is None:
            return
        lsns[change.range] = max(lsns[change.range], change.lsn)
        table = change.container.replica_table
        if change.row is None:
            self._store.execute(f"DELETE FROM {table} WHERE k = ?", (change.k,))
        else:
            self._store.put(table, change.row)


class RetryMemory:
    """Recognizes the retry that the SDK sends to the write region after a 404/1002."""

    SIZE = 10_000

    def __init__(self) -> None:
        self._missed: OrderedDict[str, None] = OrderedDict()

    def remember(self, request: str) -> None:
        self._missed[request] = None
        if len(self._missed) > self.SIZE:
            self._missed.popitem(last=False)

    def is_retry(self, request: str) -> bool:
        return self._missed.pop(request, self) is None
