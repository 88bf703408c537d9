"""Later starts: the state of the services between two deliveries of a calm run.

No stage is running at such a moment, so all state is stored: documents, vectors, blobs, and the messages in
the broker with its record of completed ones. Many seeds begin at one moment.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from localcloud.testing import ServiceBusEngine
from tests.simulation.search import SearchIndex
from tests.simulation.servicebus import Broker, Content


class SavedBroker(NamedTuple):
    """The content of the broker's journal, and the simulation's own record of messages."""

    namespace: ServiceBusEngine.Saved
    contents: dict[bytes, Content]
    direct: frozenset[str]
    arrived: dict[tuple[str, str], dict[int, int]]


@dataclass(frozen=True)
class Saved:
    """The state of the services."""

    at: float
    containers: Any  # as the engine saved them
    indexes: dict[str, SearchIndex]
    aliases: dict[str, str]
    blobs: dict[tuple[str, str], bytes]
    received: dict[str, int]
    broker: SavedBroker | None = None  # None: it is empty and remembers nothing
    acts: tuple[int, ...] | None = None  # the acts that are left, or None for all


def saved_broker(broker: Broker) -> SavedBroker:
    return SavedBroker(
        broker.namespace.save(),
        dict(broker.contents),
        frozenset(broker.direct),
        {key: dict(times) for key, times in broker.arrived.items()},
    )


def restore_broker(broker: Broker, saved: SavedBroker) -> None:
    broker.namespace.load(saved.namespace)
    broker.contents.update(saved.contents)
    broker.direct.update(saved.direct)
    broker.arrived.update({key: dict(times) for key, times in saved.arrived.items()})
    broker.changed()


def copied_indexes(indexes: dict[str, SearchIndex]) -> dict[str, SearchIndex]:
    """Copy the indexes. Their documents are shared, because a write replaces a document."""
    return {
        name: SearchIndex(index.dimensions, dict(index.stored), dict(index.visible), list(index.waiting))
        for name, index in indexes.items()
    }
