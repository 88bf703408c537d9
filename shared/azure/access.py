"""Access control of readers by source. No other module decides it.

A handler reads through `clients_of`, whose store and index filter out what the reader must not read. So a
closed source looks like a source that does not exist.
"""

import copy
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.azure.search.fields import Filters
from shared.azure.search.index import Hits, Index
from shared.models.base import Document
from shared.models.edits import Correction
from shared.models.queries.named_query import NamedQuery
from shared.models.queries.operations import (
    DEFINED_SOURCE_NAMES,
    SOURCE_NAMES,
    SOURCE_READERS,
)
from shared.models.queries.threads import TIMELINE_OF_SOURCE
from shared.models.reports import Subscription, Summary
from shared.models.sources import Archive, Source
from shared.models.threads import Chunk, Message, Thread
from shared.settings.app import Settings

Model = TypeVar("Model", bound=Document)
OPERATOR = "operator"
EVERYONE = "*"  # in a source's readers: every reader who is signed in
ACCESS_DAYS = 180
"""How long a feed's address and an e-mail digest keep the roles and groups of their account."""
READERS_KNOWN_SECONDS = 30.0
"""How long another instance may still use the former groups of a source."""


@dataclass(frozen=True)
class Caller:
    """The reader of a request. The default is any reader of a public site."""

    name: str = ""
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    reads_all: bool = False
    sees_addresses: bool = False

    @classmethod
    def of_account(
        cls, settings: Settings, name: str, roles: Iterable[str], groups: Iterable[str]
    ) -> "Caller":
        """Return the caller of an account. Operators read all sources and see whole addresses."""
        known = frozenset(roles)
        is_operator = OPERATOR in known
        whole = is_operator or settings.SHOW_ADDRESSES
        return cls(name, known, frozenset(groups), reads_all=is_operator, sees_addresses=whole)


ANYBODY = Caller()
_current: ContextVar[Caller] = ContextVar("caller", default=ANYBODY)


def current_caller() -> Caller:
    return _current.get()


def set_caller(caller: Caller) -> None:
    """Set the caller of the request that this task answers."""
    _current.set(caller)


@dataclass(frozen=True)
class _SourceReaders:
    """The groups of each restricted source and, for a public site with a closed source, all source names."""

    groups: Mapping[str, frozenset[str]]
    names: frozenset[str] = frozenset()


_known: WeakKeyDictionary[Store, tuple[float, _SourceReaders]] = WeakKeyDictionary()


async def readable_sources(clients: Clients, caller: Caller) -> frozenset[str] | None:
    """Return the sources that the reader may read, or None for all sources.

    With AUTH_MODE `entra`, only operators read a source without groups. A public site has no groups, so a
    source with groups was closed before and stays closed.
    """
    if caller.reads_all:
        return None
    public = clients.settings.AUTH_MODE == "public"
    until, found = _known.get(clients.store, (0.0, None))
    if found is None or time.monotonic() > until:
        found = await _source_readers(clients, public=public)
        # A public site refuses to close a source, so a source that was open at the start stays open.
        kept = float("inf") if public and not found.names else READERS_KNOWN_SECONDS
        _known[clients.store] = (time.monotonic() + kept, found)
    if not public:
        own = caller.groups | {EVERYONE}
        return frozenset(name for name, groups in found.groups.items() if groups & own)
    return found.names or None


async def _source_readers(clients: Clients, *, public: bool) -> _SourceReaders:
    rows = clients.store.query(SOURCE_READERS, Session())
    groups = {row["id"]: frozenset(row["readers"]) async for row in rows}
    closed = {name for name, named in groups.items() if EVERYONE not in named}
    if not public or not closed:
        return _SourceReaders(groups)
    queries = (SOURCE_NAMES, DEFINED_SOURCE_NAMES)
    names: list[object] = [name for query in queries async for name in clients.store.query(query, Session())]
    return _SourceReaders(groups, frozenset(map(str, names)) - closed | {""})


def forget_readers(clients: Clients) -> None:
    """Clear the cache after this process changed the readers of a source."""
    _known.pop(clients.store, None)


async def clients_of(clients: Clients, caller: Caller) -> Clients:
    """Return the same connections with a store and an index that are limited to the reader's sources."""
    allowed = await readable_sources(clients, caller)
    if allowed is None:
        return clients
    limited = copy.copy(clients)
    limited.store = ReaderStore(clients.store, allowed)
    limited.index = ReaderIndex(clients.index, allowed)
    return limited


class ReaderStore(Store):
    """A store that is limited to the reader's sources. A query whose rows have no known source fails."""

    def __init__(self, whole: Store, allowed: frozenset[str]) -> None:
        vars(self).update(vars(whole))
        self._whole = whole
        self.readable = self._allowed = allowed

    async def find(
        self, model: type[Model], id_: str, session: Session, *, partition: str | None = None
    ) -> Model | None:
        found = await self._whole.find(model, id_, session, partition=partition)
        return next(iter(await self._only_readable([found])), None) if found else None

    async def _find_many(
        self, model: type[Model], keys: Sequence[tuple[str, str]], session: Session
    ) -> dict[str, Model]:
        found = await super()._find_many(model, keys, session)
        return {document.id: document for document in await self._only_readable(list(found.values()))}

    async def query_documents(
        self, model: type[Model], query: NamedQuery, session: Session, **parameters: Any
    ) -> list[Model]:
        found = await self._whole.query_documents(model, query, session, **parameters)
        return await self._only_readable(found)

    async def query(
        self, query: NamedQuery, session: Session, *, partition: str | None = None, **parameters: Any
    ) -> AsyncIterator[Any]:
        rows = [row async for row in self._whole.query(query, session, partition=partition, **parameters)]
        is_own = query.container == Subscription.container
        for row in rows if is_own else await self._readable_rows(query, rows, parameters):
            yield row

    async def _readable_rows(
        self, query: NamedQuery, rows: list[Any], parameters: Mapping[str, Any]
    ) -> list[Any]:
        sources = await self._sources_of_rows(query, rows, parameters)
        if sources is None:
            raise PermissionError(f"{query.name} is not a query for readers: see shared/azure/access.py")
        return [row for row, source in zip(rows, sources, strict=True) if source in self._allowed]

    async def _sources_of_rows(  # noqa: PLR0911 - a case each
        self, query: NamedQuery, rows: list[Any], parameters: Mapping[str, Any]
    ) -> Sequence[object] | None:
        """Return the source of each row, or None if a row has no known source."""
        if query.name == SOURCE_NAMES.name:
            return rows
        if query.name == TIMELINE_OF_SOURCE.name:
            return [parameters["source"]] * len(rows)
        if query.name.startswith("archive_"):  # counts of one archive
            archive = await self._whole.find(Archive, parameters["archive"], Session())
            return [archive.source if archive else None] * len(rows)
        if not all(isinstance(row, dict) for row in rows):
            return None
        if query.container == Source.container:
            return [row["id"] for row in rows]
        if all("source" in row for row in rows):
            return [row["source"] for row in rows]
        if all("thread_id" in row for row in rows):
            sources = await self._sources_of_threads({row["thread_id"] or "" for row in rows})
            return [sources.get(row["thread_id"]) for row in rows]
        return None

    async def _only_readable(self, documents: Sequence[Model]) -> list[Model]:
        sources = await self._sources_of(documents)
        return [
            _without_other_sources(document, self._allowed)
            for document in documents
            if isinstance(document, Subscription) or sources.get(document.id) in self._allowed
        ]

    async def _sources_of(self, documents: Sequence[Document]) -> dict[str, str | None]:
        """Return the source of each document, or None for a document with several sources or none."""
        found: dict[str, str | None] = {}
        threads: dict[str, str] = {}
        messages: dict[str, str] = {}
        for document in documents:
            match document:
                case Source():
                    found[document.id] = document.name
                case Summary(thread_id=None) if not document.scope.startswith("draft:"):
                    found[document.id] = document.scope.split(":")[1]
                case Chunk() | Summary():
                    threads[document.id] = document.thread_id or ""
                case Correction():
                    messages[document.id] = document.message_key
                case _:
                    found[document.id] = getattr(document, "source", None)
        if threads:
            known = await self._sources_of_threads(set(threads.values()))
            found |= {id_: known.get(thread) for id_, thread in threads.items()}
        if messages:
            mails = await self._whole.find_many(Message, sorted(set(messages.values())), Session())
            found |= {id_: mails[key].source for id_, key in messages.items() if key in mails}
        return found

    async def _sources_of_threads(self, ids: set[str]) -> dict[str, str | None]:
        found = await self._whole.find_many(Thread, sorted(ids - {""}), Session())
        return {id_: thread.source for id_, thread in found.items()}


def _without_other_sources(document: Model, allowed: frozenset[str]) -> Model:
    """Remove the names of other sources with the same mail from the document."""
    if isinstance(document, Message | Thread):
        document.sources = [name for name in document.sources if name in allowed]
    if isinstance(document, Message):
        document.elsewhere = [other for other in document.elsewhere if other.source in allowed]
    return document


class ReaderIndex(Index):
    """An index that is limited to the reader's sources."""

    def __init__(self, whole: Index, allowed: frozenset[str]) -> None:
        vars(self).update(vars(whole))
        self._allowed = tuple(sorted(allowed))

    async def search(
        self,
        text: str | None,
        vector: Sequence[float] | None = None,
        *,
        filters: Filters | None = None,
        **more: Any,
    ) -> Hits:
        limited = replace(filters or Filters(), sources=self._allowed)
        return await super().search(text, vector, filters=limited, **more)
