"""Writes that share a partition go in transactional batches: as few round trips as the limits allow."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shared.documents import Document

__all__ = ["Patch", "by_partition", "in_batches"]

MAX_OPERATIONS = 100
MAX_BYTES = 1_000_000  # half of Cosmos DB's limit, and no body that blocks the event loop for long
MAX_PATCH_OPERATIONS = 10

Model = TypeVar("Model", bound=Document)


@dataclass(frozen=True)
class Patch:
    """Changes to one document: what is set, added up, or removed."""

    id: str
    partition: str
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


def by_partition(documents: Iterable[Model]) -> dict[str, list[Model]]:
    groups: dict[str, list[Model]] = defaultdict(list)
    for document in documents:
        groups[document.partition_key].append(document)
    return dict(groups)


def in_batches(stored: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Cut into runs that one transactional batch can take."""
    batch: list[dict[str, Any]] = []
    size = 0
    for each in stored:
        length = len(json.dumps(each))
        if batch and (len(batch) == MAX_OPERATIONS or size + length > MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += length
    if batch:
        yield batch
