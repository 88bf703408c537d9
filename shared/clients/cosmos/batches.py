"""Writes that share a partition go in transactional batches: as few round trips as the limits allow."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from shared.core.json_size import json_bytes_at_most
from shared.documents.containers import document_class

MAX_OPERATIONS = 99  # of the 100 that Cosmos DB takes: one is for the fence
MAX_BYTES = 1_000_000  # half of Cosmos DB's limit, and no body that blocks the event loop for long
MAX_PATCH_OPERATIONS = 10


class Storable(Protocol):
    """What a batch can take: a document, or one that is ready."""

    @property
    def id(self) -> str: ...

    @property
    def container(self) -> str: ...

    @property
    def partition_value(self) -> str: ...

    def to_cosmos(self) -> dict[str, Any]: ...


class Replaceable(Storable, Protocol):
    """One that may replace what was read."""

    @property
    def etag(self) -> str | None: ...


Some = TypeVar("Some", bound=Storable)


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document as it is stored, where a model of each would cost more than it tells."""

    container: str
    partition_value: str
    stored: dict[str, Any]
    size: int | None = None
    """Bytes at most, where that is known."""
    etag: str | None = None
    """Of the one that it replaces."""

    @property
    def id(self) -> str:
        return str(self.stored["id"])

    def to_cosmos(self) -> dict[str, Any]:
        return self.stored


@dataclass(frozen=True)
class Patch:
    """Changes to one document: what is set, added up, or removed."""

    id: str
    partition_value: str
    set: Mapping[str, Any] = field(default_factory=dict)
    increment: Mapping[str, float] = field(default_factory=dict)
    remove: Sequence[str] = ()

    def operations(self) -> list[dict[str, Any]]:
        operations = [{"op": "set", "path": f"/{name}", "value": value} for name, value in self.set.items()]
        operations += [
            {"op": "incr", "path": f"/{name}", "value": value} for name, value in self.increment.items()
        ]
        operations += [{"op": "remove", "path": f"/{name}"} for name in self.remove]
        if not 1 <= len(operations) <= MAX_PATCH_OPERATIONS:
            raise ValueError(f"a patch has 1 to {MAX_PATCH_OPERATIONS} operations, not {len(operations)}")
        return operations


def by_partition(documents: Iterable[Some]) -> dict[tuple[str, str], list[Some]]:
    """Those of one container and partition together."""
    groups: dict[tuple[str, str], list[Some]] = defaultdict(list)
    for document in documents:
        container = document.container
        groups[container, document_class(container).partition_of(document.partition_value)].append(document)
    return dict(groups)


def in_batches(documents: Iterable[Storable]) -> Iterator[list[dict[str, Any]]]:
    """Cut into runs that one transactional batch can take, as they are sent."""
    batch: list[dict[str, Any]] = []
    size = 0
    for document in documents:
        stored = document.to_cosmos()
        known = document.size if isinstance(document, RawDocument) else None
        length = json_bytes_at_most(stored) if known is None else known
        if batch and (len(batch) == MAX_OPERATIONS or size + length > MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(stored)
        size += length
    if batch:
        yield batch
