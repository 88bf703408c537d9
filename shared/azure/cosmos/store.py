"""Cosmos DB: read and write documents as models, with a session token on every call.

An event has the tokens of the writes that it announces. The stage that receives it reads with these tokens,
so it sees the writes or gets an error that is retried as a race. Its own writes add tokens to its session.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from azure.core import MatchConditions

from shared.azure.calls import Calls
from shared.azure.cosmos.session import (
    MAX_OPERATIONS,
    BatchWrite,
    Patch,
    Refusal,
    Replaceable,
    Session,
    Storable,
    by_partition,
    in_batches,
)
from shared.core.concurrency import batches_of, gather_limited
from shared.core.errors import DocumentNotFoundError, TransientError
from shared.core.ids import checked_id
from shared.core.lazy_import import lazy
from shared.models.base import Document
from shared.models.containers import read_document
from shared.models.queries.named_query import NamedQuery, Partitions

if TYPE_CHECKING:
    from azure.cosmos import exceptions as cosmos
    from azure.cosmos.aio import ContainerProxy, DatabaseProxy
else:
    cosmos = lazy("azure.cosmos.exceptions")

log = logging.getLogger(__name__)
Model = TypeVar("Model", bound=Document)
READ_BATCH_SIZE = 100  # the SDK makes one query for a batch, and long queries cost more than short ones
PAGE_ITEMS = 1000
MAX_IDS_PER_QUERY = 4000  # a query has at most 512 KB
SESSION_HEADER = "x-ms-session-token"
NO_DOCUMENT = "no-such-document"
HTTP_NOT_FOUND = 404
HTTP_CONFLICT = 409
HTTP_CHANGED = (HTTP_NOT_FOUND, HTTP_CONFLICT, 412)  # missing, existing, or changed


class Conflict(Enum):
    """The result of a conditional write whose condition did not hold. It is not an error."""

    CONFLICT = "conflict"


class PartitionsChangedError(TransientError):
    """The physical partitions of a container were split during the refresh."""


class Store:
    """The documents of the database."""

    readable: frozenset[str] | None = None
    """The sources that its documents are limited to (shared/azure/access.py)."""

    def __init__(
        self,
        database: "DatabaseProxy",
        calls: Calls | None = None,
        *,
        connected: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Create the store. `connected` is awaited before each call, to initialize the SDK's client."""
        self._database = database
        self._calls = calls or Calls("cosmos")
        self._connected = connected
        self._containers: dict[str, ContainerProxy] = {}
        self._written: set[str] = set()
        self._seen = Session()
        self._probes: dict[str, dict[str, str]] = {}
        """By container: a partition key in each physical partition, and the id of its range."""

    # reading

    async def find(
        self, model: type[Model], id_: str, session: Session, *, partition: str | None = None
    ) -> Model | None:
        """Return the document, or None if it does not exist."""
        container = model.container
        async with self._call("read"):
            try:
                stored = await self._container(container).read_item(
                    checked_id(id_),
                    _partition(model, id_, partition),
                    session_token=self._token(container, session),
                )
            except cosmos.CosmosResourceNotFoundError as error:
                if error.sub_status:  # the replica lags or the container is missing, so the answer is unknown
                    raise
                return None
        self._observe(container, stored, session)
        return read_document(model, stored)

    async def find_latest(
        self, model: type[Model], id_: str, session: Session, *, partition: str | None = None
    ) -> Model | None:
        """Return the document at the primary, by a batch, which only the primary executes."""
        container, place = model.container, _partition(model, id_, partition)
        async with self._call("read_latest"):
            try:
                (found,) = results = await self._container(container).execute_item_batch(
                    [("read", (checked_id(id_),))], place, session_token=self._token(container, session)
                )
            except cosmos.CosmosBatchOperationError as error:
                if error.status_code != HTTP_NOT_FOUND:
                    raise
                self._observe_headers(container, error.headers, session)
                return None
        self._observe(container, results, session)
        return read_document(model, found["resourceBody"])

    async def read(
        self, model: type[Model], id_: str, session: Session, *, partition: str | None = None
    ) -> Model:
        """Return the document. Raise DocumentNotFoundError, which is retried as a race, if it is missing."""
        document = await self.find(model, id_, session, partition=partition)
        if document is None:
            raise DocumentNotFoundError(f"{model.container}/{id_} does not exist")
        return document

    async def find_many(self, model: type[Model], ids: Iterable[str], session: Session) -> dict[str, Model]:
        """Return the existing documents by id."""
        return await self._find_many(model, [(id_, _partition(model, id_, None)) for id_ in ids], session)

    async def find_many_in(
        self, model: type[Model], keys: Iterable[tuple[str, str]], session: Session
    ) -> dict[str, Model]:
        """Return the existing documents by id, for models whose partition does not follow from the id."""
        wanted = [(id_, _partition(model, id_, partition)) for id_, partition in keys]
        return await self._find_many(model, wanted, session)

    async def _find_many(
        self, model: type[Model], keys: Sequence[tuple[str, str]], session: Session
    ) -> dict[str, Model]:
        pages = await gather_limited(
            self._read_items(model.container, batch, session) for batch in batches_of(keys, READ_BATCH_SIZE)
        )
        return {stored["id"]: read_document(model, stored) for page in pages for stored in page}

    async def _read_items(
        self, container: str, keys: list[tuple[str, str]], session: Session
    ) -> list[dict[str, Any]]:
        async with self._call("read_many"):
            token = self._token(container, session)
            return list(await self._container(container).read_items(keys, session_token=token))

    async def query(
        self, query: NamedQuery, session: Session, *, partition: str | None = None, **parameters: Any
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the rows of a query, fetched in pages. Without a partition it reads all partitions."""
        if (partition is not None) != (query.partitions is Partitions.ONE):
            raise ValueError(
                f"{query.name} is a query of {query.partitions} partition(s): see its definition"
            )
        options: dict[str, Any] = {} if partition is None else {"partition_key": partition}
        options["parameters"] = [{"name": f"@{name}", "value": value} for name, value in parameters.items()]
        options["session_token"] = self._token(query.container, session)
        options["max_item_count"] = PAGE_ITEMS
        pages = self._container(query.container).query_items(query.text, **options).by_page()
        while True:
            async with self._call(f"query.{query.name}"):
                page = await anext(pages, None)
                if page is None:
                    return
                items = [item async for item in page]
            for item in items:
                yield item

    async def query_documents(
        self, model: type[Model], query: NamedQuery, session: Session, **parameters: Any
    ) -> list[Model]:
        """Return all rows of a query as models."""
        return [read_document(model, row) async for row in self.query(query, session, **parameters)]

    async def query_by_ids(
        self,
        query: NamedQuery,
        ids: Collection[str],
        session: Session,
        *,
        partition: str | None = None,
        **parameters: Any,
    ) -> list[dict[str, Any]]:
        """Return the rows of a query for these ids (its @ids), in all partitions or in one."""

        async def rows_for(batch: list[str]) -> list[dict[str, Any]]:
            rows = self.query(query, session, partition=partition, ids=batch, **parameters)
            return [row async for row in rows]

        pages = await gather_limited(rows_for(batch) for batch in batches_of([*ids], MAX_IDS_PER_QUERY))
        return [row for page in pages for row in page]

    # writing

    async def create(self, document: Document, session: Session) -> bool:
        """Create the document. Return False if it exists already, and leave it unchanged."""
        container = document.container
        async with self._call("create", writes=True):
            try:
                stored = await self._container(container).create_item(
                    document.to_cosmos(), no_response=container in self._written
                )
            except cosmos.CosmosResourceExistsError as error:
                log.debug("%s/%s already exists, skipping", container, document.id)
                self._observe_headers(container, error.headers, session)
                return False
        self._written.add(container)
        self._observe(container, stored, session)
        return True

    async def create_missing(self, documents: Iterable[Storable], session: Session) -> set[str]:
        """Create the documents that do not exist. Return the ids of the created documents."""
        created = await gather_limited(
            self._creating(container, partition, batch, session)
            for (container, partition), group in by_partition(documents).items()
            for batch in in_batches(group)
        )
        return set().union(*created)

    async def upsert(self, document: Document, session: Session) -> None:
        container = document.container
        async with self._call("upsert", writes=True):
            # The SDK learns from the first full response which container a token belongs to. Otherwise it
            # mixes the tokens of such containers, and some reads fail permanently.
            stored = await self._container(container).upsert_item(
                document.to_cosmos(), no_response=container in self._written
            )
        self._written.add(container)
        self._observe(container, stored, session)

    async def upsert_all(
        self, documents: Iterable[Storable], session: Session, *, new: Collection[str] = ()
    ) -> None:
        """Store the documents in batches by partition. Documents in `new` must not exist yet."""

        def operation(stored: dict[str, Any]) -> tuple[Any, ...]:
            return ("create" if stored["id"] in new else "upsert", (stored,))

        await gather_limited(
            self._batch(container, partition, [operation(document) for document in batch], session)
            for (container, partition), group in by_partition(documents).items()
            for batch in in_batches(group)
        )

    async def write_all(self, documents: Sequence[Replaceable], session: Session) -> Conflict | None:
        """Create new documents and replace read documents. Return CONFLICT if another writer was faster.

        Each batch is atomic, so after a conflict some batches may be written.
        """
        etags = {document.id: document.etag for document in documents}

        def operation(stored: dict[str, Any]) -> tuple[Any, ...]:
            id_ = stored["id"]
            if etags[id_] is None:
                return ("create", (stored,))
            return ("replace", (id_, stored), {"if_match_etag": etags[id_]})

        conflicts = await gather_limited(
            self._conflicts(container, partition, [operation(document) for document in batch], session)
            for (container, partition), group in by_partition(documents).items()
            for batch in in_batches(group)
        )
        return Conflict.CONFLICT if any(conflicts) else None

    async def delete_all(
        self, model: type[Document], ids: Iterable[str], session: Session, *, partition: str | None = None
    ) -> None:
        """Delete the documents. Missing documents are ignored."""
        await gather_limited(self.delete(model, id_, session, partition=partition) for id_ in ids)

    async def replace(self, document: Model, session: Session) -> Model | Conflict:
        """Replace the document. Return CONFLICT if it was changed or deleted after it was read."""
        container = document.container
        if document.etag is None:
            raise ValueError("only a document that was read can be replaced")
        async with self._call("replace", writes=True):
            try:
                stored = await self._container(container).replace_item(
                    document.id,
                    document.to_cosmos(),
                    etag=document.etag,
                    match_condition=MatchConditions.IfNotModified,
                )
            except (cosmos.CosmosAccessConditionFailedError, cosmos.CosmosResourceNotFoundError) as error:
                self._observe_headers(container, error.headers, session)
                return Conflict.CONFLICT
        self._observe(container, stored, session)
        return read_document(type(document), stored)

    async def patch(
        self, model: type[Model], patch: Patch, session: Session, *, condition: str | None = None
    ) -> Model | Conflict:
        """Change the document in place. Return CONFLICT if the condition does not hold.

        The condition is the text after WHERE, over `c`. It must not contain user input.
        """
        container = model.container
        async with self._call("patch", writes=True):
            try:
                stored = await self._container(container).patch_item(
                    checked_id(patch.id),
                    _partition(model, patch.id, patch.partition),
                    patch.operations(),
                    filter_predicate=f"FROM c WHERE {condition}" if condition else None,
                )
            except cosmos.CosmosAccessConditionFailedError as error:
                # The next read must see the state that did not meet the condition.
                self._observe_headers(container, error.headers, session)
                return Conflict.CONFLICT
            except cosmos.CosmosResourceNotFoundError as error:
                self._observe_headers(container, error.headers, session)
                raise DocumentNotFoundError(f"{container}/{patch.id} does not exist") from None
        self._observe(container, stored, session)
        return read_document(model, stored)

    async def patch_all(
        self,
        model: type[Document],
        patches: Iterable[Patch],
        session: Session,
        *,
        condition: str | None = None,
    ) -> set[str]:
        """Change the documents in batches by partition. Return the ids of the unchanged documents.

        A document stays unchanged if it is missing or its condition, the common one, or its ETag does not
        match. Without any of these, raise DocumentNotFoundError if it is missing.
        """
        groups: dict[str, list[Patch]] = {}
        for patch in patches:
            groups.setdefault(_partition(model, patch.id, patch.partition), []).append(patch)
        refused = await gather_limited(
            self._patching(model.container, partition, batch, session, condition)
            for partition, group in groups.items()
            for batch in batches_of(group, MAX_OPERATIONS)
        )
        return set().union(*refused)

    async def transact(
        self, container: str, partition: str, operations: Sequence[BatchWrite], session: Session
    ) -> dict[str, str] | Refusal:
        """Execute all writes or none. Return the ETags that the response has, or a Refusal."""
        try:
            results = await self._batch(
                container, partition, [operation.for_sdk() for operation in operations], session
            )
        except cosmos.CosmosBatchOperationError as error:
            if error.status_code not in HTTP_CHANGED:
                raise
            # The next read must see the state that refused the batch.
            self._observe_headers(container, error.headers, session)
            return Refusal(operations[error.error_index].id)
        return {
            operation.id: result["eTag"]
            for operation, result in zip(operations, results, strict=False)
            if "eTag" in result
        }

    async def refresh(self, model: type[Document], session: Session) -> None:
        """Let the session see all writes to this container so far.

        Only the primary executes a batch, and the token of its response covers one physical partition. So one
        batch for each is enough. A token of another range means a split: then find the partitions again.
        """
        container = model.container
        if await self._refreshed(container, session):
            return
        self._probes[container] = await self._find_probes(container)
        if not await self._refreshed(container, session):
            raise PartitionsChangedError(f"the partitions of {container} change")

    async def delete(
        self,
        model: type[Document],
        id_: str,
        session: Session,
        *,
        partition: str | None = None,
        etag: str | None = None,
    ) -> bool:
        """Delete the document. Return False if it is missing or does not match the ETag."""
        container, place = model.container, _partition(model, id_, partition)
        unchanged: dict[str, Any] = (
            {"etag": etag, "match_condition": MatchConditions.IfNotModified} if etag is not None else {}
        )
        async with self._call("delete", writes=True):
            try:
                await self._container(container).delete_item(
                    checked_id(id_),
                    place,
                    response_hook=lambda headers, _: self._observe_headers(container, headers, session),
                    **unchanged,
                )
            except (cosmos.CosmosAccessConditionFailedError, cosmos.CosmosResourceNotFoundError) as error:
                self._observe_headers(container, error.headers, session)
                return False
        return True

    # inside

    def _call(self, operation: str, *, writes: bool = False) -> AbstractAsyncContextManager[object]:
        measured = self._calls.measured(operation, writes=writes)
        return measured if self._connected is None else _connecting(measured, self._connected)

    def _container(self, name: str) -> "ContainerProxy":
        if name not in self._containers:
            self._containers[name] = self._database.get_container_client(name)
        return self._containers[name]

    def _token(self, container: str, session: Session) -> str | None:
        """Return the token of the session, or else of this process.

        Without a token the SDK sends its own, which may belong to another container: it stores the tokens of
        errors, and of calls with a token, together for all containers that it only called with a token.
        """
        known, seen = session.token(container), self._seen.token(container)
        if known and not seen:
            self._seen.observe(container, known)
        return known or seen

    def _observe(self, container: str, response: Any, session: Session) -> None:
        self._observe_headers(container, response.get_response_headers(), session)

    def _observe_headers(self, container: str, headers: Mapping[str, Any] | None, session: Session) -> None:
        token = (headers or {}).get(SESSION_HEADER)
        session.observe(container, token)
        self._seen.observe(container, token)

    async def _creating(
        self, container: str, partition: str, batch: list[dict[str, Any]], session: Session
    ) -> set[str]:
        """Create the documents of a batch that do not exist."""
        created = await self._created(container, partition, batch, session)
        if len(created) < len(batch):
            existing = sorted(document["id"] for document in batch if document["id"] not in created)
            log.debug("%d documents in %s already exist, skipping: %s", len(existing), container, existing)
        return created

    async def _created(
        self, container: str, partition: str, batch: list[dict[str, Any]], session: Session
    ) -> set[str]:
        batch = list(batch)
        while batch:
            try:
                await self._batch(
                    container, partition, [("create", (document,)) for document in batch], session
                )
            except cosmos.CosmosBatchOperationError as error:
                if error.status_code != HTTP_CONFLICT:
                    raise
                # The next read must see the existing document.
                self._observe_headers(container, error.headers, session)
                # Removing the document that the error names makes progress even if the read lags.
                batch.pop(error.error_index)
                batch = await self._without_existing(container, partition, batch, session)
            else:
                return {document["id"] for document in batch}
        return set()

    async def _without_existing(
        self, container: str, partition: str, batch: list[dict[str, Any]], session: Session
    ) -> list[dict[str, Any]]:
        if not batch:
            return batch
        keys = [(document["id"], partition) for document in batch]
        stored = await self._read_items(container, keys, session)
        existing = {document["id"] for document in stored}
        return [document for document in batch if document["id"] not in existing]

    async def _patching(
        self, container: str, partition: str, batch: list[Patch], session: Session, condition: str | None
    ) -> set[str]:
        left, refused = list(batch), set[str]()
        while left:
            operations = [
                BatchWrite(
                    "patch", patch.id, None, patch.operations(), patch.etag, patch.condition or condition
                ).for_sdk()
                for patch in left
            ]
            try:
                await self._batch(container, partition, operations, session)
            except cosmos.CosmosBatchOperationError as error:
                patch = left[error.error_index]
                is_conditional = any((condition, patch.condition, patch.etag))
                if is_conditional and error.status_code in HTTP_CHANGED:
                    self._observe_headers(container, error.headers, session)
                    refused.add(patch.id)
                    left = [other for other in left if other.id != patch.id]
                    continue
                if error.status_code != HTTP_NOT_FOUND:
                    raise
                raise DocumentNotFoundError(f"{container}/{patch.id} does not exist") from None
            else:
                return refused
        return refused

    async def _refreshed(self, container: str, session: Session) -> bool:
        """Return whether each probe is still in the physical partition where it was found."""
        probes = self._probes.get(container, {})
        tokens = await gather_limited(self._primary_token(container, probe) for probe in probes)
        if not probes or any(
            known not in ("", _range_of(token)) for known, token in zip(probes.values(), tokens, strict=True)
        ):
            return False
        for probe, token in zip(probes, tokens, strict=True):
            probes[probe] = _range_of(token)
            session.observe(container, token)
        return True

    async def _primary_token(self, container: str, partition: str) -> str:
        """Return the token of a batch that reads a missing document.

        A plain read does not work, because the SDK may store its token under another container.
        """
        async with self._call("refresh"):
            try:
                probe = [("read", (NO_DOCUMENT,))]
                seen = self._seen.token(container)
                await self._container(container).execute_item_batch(probe, partition, session_token=seen)
            except cosmos.CosmosBatchOperationError as error:
                if error.status_code != HTTP_NOT_FOUND:
                    raise
                return str((error.headers or {})[SESSION_HEADER])
        raise ValueError(f"{container} has a document named {NO_DOCUMENT}")

    async def _find_probes(self, container: str) -> dict[str, str]:
        """Return a partition key in each physical partition. The ids of their ranges are not known yet."""
        async with self._call("ranges"):
            proxy = self._container(container)
            known = container in self._probes
            missing = [found async for found in proxy.read_feed_ranges(force_refresh=known)]
            probes: dict[str, str] = {}
            for number in count():
                if not missing:
                    return probes
                place = await proxy.feed_range_from_partition_key(f"{number:03d}")
                for feed_range in missing:
                    if await proxy.is_feed_range_subset(feed_range, place):
                        probes[f"{number:03d}"] = ""
                        missing.remove(feed_range)
                        break
        raise AssertionError

    async def _conflicts(
        self, container: str, partition: str, operations: list[tuple[Any, ...]], session: Session
    ) -> bool:
        """Execute the batch. Return whether a condition failed, so that nothing was written."""
        try:
            await self._batch(container, partition, operations, session)
        except cosmos.CosmosBatchOperationError as error:
            if error.status_code not in HTTP_CHANGED:
                raise
            return True
        return False

    async def _batch(
        self, container: str, partition: str, operations: list[tuple[Any, ...]], session: Session
    ) -> list[dict[str, Any]]:
        async with self._call("batch", writes=True):
            results = await self._container(container).execute_item_batch(
                operations, partition, no_response=True, session_token=self._token(container, session)
            )
        self._observe(container, results, session)
        return results


def _partition(model: type[Document], id_: str, named: str | None) -> str:
    """Return the partition of the document, which follows from the id or is named by the caller."""
    if model.follows_from_id():
        if named is not None:
            raise ValueError(f"the partition of a document in {model.container} follows from its id")
        return model.partition_of(id_)
    if named is None:
        raise ValueError(f"the partition of a document in {model.container} has to be named")
    return named


def _range_of(token: str) -> str:
    return token.partition(":")[0]


@asynccontextmanager
async def _connecting(
    measured: AbstractAsyncContextManager[object], connected: Callable[[], Awaitable[object]]
) -> AsyncIterator[None]:
    async with measured:
        await connected()
        yield
