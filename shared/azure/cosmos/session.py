"""Session tokens, patches and transactional batches of Cosmos DB."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from shared.core.json_size import json_bytes_at_most

MAX_OPERATIONS = 100  # the limit of Cosmos DB
MAX_BYTES = 1_000_000  # half of Cosmos DB's limit, so that a body does not block the event loop for long
MAX_PATCH_OPERATIONS = 10


class Storable(Protocol):
    """A document that a batch can write: a model or a RawDocument."""

    @property
    def id(self) -> str: ...

    @property
    def container(self) -> str: ...

    @property
    def partition(self) -> str: ...

    def to_cosmos(self) -> dict[str, Any]: ...


class Replaceable(Storable, Protocol):
    """A document that may replace the version that was read."""

    @property
    def etag(self) -> str | None: ...


Some = TypeVar("Some", bound=Storable)


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document in its stored form, for writes that do not need a model."""

    container: str
    partition: str
    stored: dict[str, Any]
    size: int | None = None
    """The maximum size in bytes, if known."""
    etag: str | None = None
    """The ETag of the version that it replaces."""

    @property
    def id(self) -> str:
        return str(self.stored["id"])

    def to_cosmos(self) -> dict[str, Any]:
        return self.stored


@dataclass(frozen=True)
class Patch:
    """Changes to one document: fields to set, increment and remove."""

    id: str
    partition: str | None = None
    """Needed if the partition does not follow from the id."""
    set: Mapping[str, Any] = field(default_factory=dict)
    increment: Mapping[str, float] = field(default_factory=dict)
    remove: Sequence[str] = ()
    etag: str | None = None
    """The ETag as read, if the document must be unchanged."""
    condition: str | None = None
    """The text after WHERE, over `c`. It must not contain user input."""

    def operations(self) -> list[dict[str, Any]]:
        operations = [{"op": "set", "path": f"/{name}", "value": value} for name, value in self.set.items()]
        operations += [
            {"op": "incr", "path": f"/{name}", "value": value} for name, value in self.increment.items()
        ]
        operations += [{"op": "remove", "path": f"/{name}"} for name in self.remove]
        if not 1 <= len(operations) <= MAX_PATCH_OPERATIONS:
            raise ValueError(f"a patch has 1 to {MAX_PATCH_OPERATIONS} operations, not {len(operations)}")
        return operations


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """One write of a transactional batch."""

    kind: str
    """`create`, `replace`, `upsert`, `patch` or `delete`."""
    id: str
    document: Mapping[str, Any] | None = None
    changes: Sequence[Mapping[str, Any]] = ()
    etag: str | None = None
    condition: str | None = None

    def for_sdk(self) -> tuple[Any, ...]:
        options = {"if_match_etag": self.etag} if self.etag is not None else {}
        match self.kind:
            case "create" | "upsert":
                return (self.kind, (self.document,))
            case "replace":
                return (self.kind, (self.id, self.document), options)
            case "delete":
                return (self.kind, (self.id,), options)
        predicate = {"filter_predicate": f"FROM c WHERE {self.condition}"} if self.condition else {}
        return ("patch", (self.id, list(self.changes)), {**options, **predicate})


@dataclass(frozen=True)
class Refusal:
    """A batch that wrote nothing, because the condition of the operation on this id failed."""

    id: str


def by_partition(documents: Iterable[Some]) -> dict[tuple[str, str], list[Some]]:
    """Group the documents by container and partition."""
    groups: dict[tuple[str, str], list[Some]] = defaultdict(list)
    for document in documents:
        groups[document.container, document.partition].append(document)
    return dict(groups)


def in_batches(documents: Iterable[Storable]) -> Iterator[list[dict[str, Any]]]:
    """Split the documents into transactional batches, in the form that is sent."""
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


def merge_tokens(*tokens: str) -> str:
    """Return one token that is at least as new as all given tokens."""
    newest: dict[str, str] = {}
    for token in tokens:
        for part in filter(None, token.split(",")):
            range_id, _, position = part.strip().partition(":")
            if range_id not in newest or _progress(position) > _progress(newest[range_id]):
                newest[range_id] = position
    return ",".join(f"{range_id}:{position}" for range_id, position in sorted(newest.items()))


def _progress(position: str) -> tuple[int, int]:
    """Return `version#lsn[#region=lsn...]`, or an lsn alone, as comparable numbers."""
    version, _, rest = position.partition("#")
    lsn = rest.partition("#")[0]
    try:
        return (int(version), int(lsn)) if rest else (0, int(version))
    except ValueError:
        return (-2, -1)  # an unknown format is older than any other


class Session:
    """The session tokens of one unit of work, by container."""

    def __init__(self, tokens: Mapping[str, str] | None = None) -> None:
        self._tokens: dict[str, str] = {}
        for container, token in (tokens or {}).items():
            self.observe(container, token)

    def token(self, container: str) -> str | None:
        return self._tokens.get(container)

    def observe(self, container: str, token: str | None) -> None:
        """Add the token of a response."""
        if token:
            self._tokens[container] = merge_tokens(self._tokens.get(container, ""), token)

    def merge(self, other: "Session") -> None:
        for container, token in other.tokens().items():
            self.observe(container, token)

    def tokens(self) -> dict[str, str]:
        """Return the tokens, for an event's envelope."""
        return dict(self._tokens)
