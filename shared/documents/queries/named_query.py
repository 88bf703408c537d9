"""A Cosmos DB query as a value. Every query of the app stands in this package, a module a container."""

from dataclasses import dataclass
from enum import StrEnum


class Partitions(StrEnum):
    """How many partitions a query reads: its cost grows with them, so every query says it."""

    ONE = "one"  # the caller names the partition
    ALL = "all"


ONE, ALL = Partitions.ONE, Partitions.ALL


@dataclass(frozen=True)
class NamedQuery:
    """A parameterised query over one container. Values are parameters, and never part of the text.

    The name is the one in metrics (`query.<name>`), so no two texts share one.
    """

    name: str
    container: str
    text: str
    partitions: Partitions = Partitions.ALL
