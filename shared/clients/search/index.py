"""AI Search, thin over the SDK: ensure the index, upsert with the result of each item, hybrid search."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from shared.clients.calls import Calls
from shared.clients.search.fields import (
    VECTOR_FIELD,
    Facet,
    FacetValue,
    Filters,
    any_of,
    facet_options,
    read_facets,
)
from shared.clients.search.versions import BAD_REQUEST, IndexMissingError, Versions
from shared.core.concurrency import batches_of, in_pages
from shared.core.errors import PartialWriteError, RejectedItemsError
from shared.core.ids import checked_id
from shared.core.lazy_import import lazy
from shared.core.runtime import Runtime

if TYPE_CHECKING:
    from azure.search.documents import models
    from azure.search.documents.aio import SearchClient
    from azure.search.documents.indexes.aio import SearchIndexClient
    from azure.search.documents.models import IndexDocumentsBatch
else:
    models = lazy("azure.search.documents.models")

MAX_BATCH = 1000
NAMED_AT_ONCE = 500
NEIGHBOURS = 50  # how many of each ranking are merged, at least
PAYLOAD = [
    "chunk_id", "message_key", "message_id", "thread_id", "archive_id", "source", "chunk_index", "text",
    "sender", "sender_name", "date", "subject", "draft_mentions", "token_count",
    "embedding_model", "embedding_date",
]  # fmt: skip
COPIED = (*PAYLOAD, "archive_ids", VECTOR_FIELD)
_RETRYABLE = frozenset({408, 409, 422, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Hit:
    score: float
    payload: dict[str, Any]
    highlights: list[str]

    @property
    def chunk_id(self) -> str:
        return str(self.payload["chunk_id"])


class Hits(list[Hit]):
    """One page of hits, and what was counted over all of them where that was asked for."""

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        facets: Mapping[str, list[FacetValue]] | None = None,
        total: int | None = None,
    ) -> None:
        super().__init__(hits)
        self.facets = dict(facets or {})
        self.total = total


class Index:
    """The collection that the alias `name` stands for, as an app sees it that embeds with one model."""

    def __init__(
        self,
        connect: "Callable[[str], SearchClient]",
        admin: "SearchIndexClient",
        name: str,
        model: str,
        *,
        runtime: Runtime | None = None,
        calls: Calls | None = None,
    ) -> None:
        self._connect = connect
        self._connected: dict[str, SearchClient] = {}
        self._admin = admin
        self.name = name
        self._model = model
        self._calls = calls or Calls("search")
        self.versions = Versions(admin, name, model, (runtime or Runtime()).monotonic, calls=self._calls)

    async def ensure(self, dimensions: int) -> None:
        """Create the index, or bring it up to the current definition, with what an earlier one holds."""
        await self.versions.ensure(dimensions)
        for earlier in await self.versions.earlier():
            await self._copy(earlier)
            await self.versions.replace(earlier)

    async def upsert(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Store all of them. What was refused is named: for good, or for now."""
        for batch in batches_of(items, MAX_BATCH):
            await self._upsert(batch)

    async def delete(self, chunk_ids: Iterable[str]) -> None:
        for batch in batches_of(list(chunk_ids), MAX_BATCH):
            for name in {self.versions.own, await self.versions.live()}:
                async with self._calls.measured("delete", writes=True):
                    results = await self._documents(name).delete_documents(
                        [{"chunk_id": chunk_id} for chunk_id in batch]
                    )
                _raise_for_items(results)

    async def get(self, chunk_id: str) -> dict[str, Any] | None:
        async with self._calls.measured("get"):
            try:
                found = await self._documents(self.versions.own).get_document(checked_id(chunk_id))
            except ResourceNotFoundError:
                return None
        return dict(found)

    async def count(self) -> int:
        """How many chunks this model's index holds, as far as it shows them yet."""
        async with self._calls.measured("count"):
            return int(await self._documents(self.versions.own).get_document_count())

    async def search(
        self,
        text: str | None,
        vector: Sequence[float] | None = None,
        *,
        filters: Filters | None = None,
        top: int = 20,
        skip: int = 0,
        highlight: bool = False,
        marks: tuple[str, str] = ("<em>", "</em>"),
        facets: Sequence[Facet | str] = (),
        total: bool = False,
    ) -> Hits:
        """By words, by meaning, or by both (merged by rank), within the filters.

        A page is `top` hits after the first `skip`. Facets, and the total where it is asked for, are counted
        over all that match: with a vector these are its nearest neighbours and what has the words. While an
        index of another model is live, its vectors mean something else: words alone are searched there.
        """
        options: dict[str, Any] = {
            "filter": (filters or Filters()).to_odata(),
            "top": top,
            "skip": skip,
            "select": PAYLOAD,
            "include_total_count": total,
        }
        if highlight:
            options["highlight_fields"] = "text"
            options["highlight_pre_tag"], options["highlight_post_tag"] = marks
        if facets:
            options["facets"] = facet_options(facets)
        neighbours = {} if vector is None else {"vector_queries": [_neighbours(vector, top + skip)]}
        hits = await self._search_live(text, {**options, **neighbours})
        if hits is not None and (vector is None or self._are_of_own_model(hits)):
            return hits
        live = await self.versions.live(anew=bool(hits) or hits is None)
        if live == self.versions.own:
            return await self._search(live, text, {**options, **neighbours}) if hits is None else hits
        if text:
            return await self._search(live, text, options)
        return await self._search(self.versions.own, text, {**options, **neighbours})

    async def _search_live(self, text: str | None, options: Mapping[str, Any]) -> Hits | None:
        """By the alias, which the service follows by itself; None where it is not there or refuses a vector.

        So a search need not ask first which index is live: the hits tell whose vectors they were compared by.
        """
        try:
            return await self._search(self.name, text, options)
        except ResourceNotFoundError:
            return None
        except HttpResponseError as error:
            if error.status_code == BAD_REQUEST and "vector_queries" in options:
                return None
            raise

    def _are_of_own_model(self, hits: Hits) -> bool:
        """Not known where there are none."""
        return bool(hits) and all(hit.payload.get("embedding_model") == self._model for hit in hits)

    async def _search(self, name: str, text: str | None, options: Mapping[str, Any]) -> Hits:
        async with self._calls.measured("search"):
            results = await self._documents(name).search(text, **options)
            hits = [_hit(item) async for item in results]
            return Hits(
                hits,
                facets=read_facets(await results.get_facets()) if options.get("facets") else None,
                total=await results.get_count() if options["include_total_count"] else None,
            )

    async def chunks_of_thread(
        self, thread_id: str, *, with_vectors: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """Everything indexed of one thread, in the order of its chunks."""
        select = [*PAYLOAD, VECTOR_FIELD] if with_vectors else PAYLOAD
        name = self.versions.own if with_vectors else await self.versions.live()
        found = self._found(
            name,
            "thread",
            filter=Filters(thread_id=thread_id).to_odata(),
            order_by=["date", "chunk_index"],
            select=select,
        )
        async for item in found:
            yield item

    async def places(self, chunk_ids: Sequence[str]) -> dict[str, str | None]:
        """Those of the chunks that have a vector, each with the thread that it says it is in."""
        found: dict[str, str | None] = {}
        for batch in batches_of(chunk_ids, NAMED_AT_ONCE):
            async for row in self.listed(any_of("chunk_id", batch)):
                found[row["chunk_id"]] = row["thread_id"]
        return found

    async def listed(self, condition: str) -> AsyncIterator[dict[str, Any]]:
        """What this model's index holds under a condition of ours, without texts and vectors, in no order."""
        selected = ["chunk_id", "thread_id", "embedding_date"]
        async for item in self._found(self.versions.own, "list", filter=condition, select=selected):
            yield item

    async def count_of(self, condition: str) -> int:
        async with self._calls.measured("count"):
            results = await self._documents(self.versions.own).search(
                "*", filter=condition, top=0, include_total_count=True
            )
            return int(await results.get_count() or 0)

    async def close(self) -> None:
        for documents in self._connected.values():
            await documents.close()
        await self._admin.close()

    def _documents(self, name: str) -> "SearchClient":
        if name not in self._connected:
            self._connected[name] = self._connect(name)
        return self._connected[name]

    async def _copy(self, earlier: str) -> None:
        """Vectors of the same model need not be made again. What is newer in the new index stays."""
        found = self._found(earlier, "copy")
        async for page in in_pages(found, MAX_BATCH):
            await self._upsert_missing([{name: item.get(name) for name in COPIED} for item in page])

    async def _found(self, name: str, operation: str, **options: Any) -> AsyncIterator[dict[str, Any]]:
        """All that is there, page by page: each page is a call, which the SDK makes when it is asked for."""
        results = await self._documents(name).search("*", **options)
        pages = results.by_page()
        while True:
            async with self._calls.measured(operation):
                page = await anext(pages, None)
                items = [] if page is None else [_payload(item) async for item in page]
            if page is None:
                return
            for item in items:
                yield item

    async def _upsert_missing(self, items: Sequence[Mapping[str, Any]]) -> None:
        existing = await self.present([item["chunk_id"] for item in items])
        await self.upsert([item for item in items if item["chunk_id"] not in existing])

    async def present(self, chunk_ids: Sequence[str]) -> set[str]:
        """Which of these chunks this model's index holds."""
        found: set[str] = set()
        for batch in batches_of(chunk_ids, NAMED_AT_ONCE):
            async with self._calls.measured("present"):
                results = await self._documents(self.versions.own).search(
                    "*", filter=any_of("chunk_id", batch), select=["chunk_id"], top=len(batch)
                )
                found |= {item["chunk_id"] async for item in results}
        return found

    async def _upsert(self, items: Sequence[Mapping[str, Any]]) -> None:
        async with self._calls.measured("upsert", writes=True):
            try:
                results = await self._documents(self.versions.own).index_documents(_batch(items))
            except ResourceNotFoundError as error:
                self.versions.doubt()
                raise IndexMissingError(self.versions.own) from error
        _raise_for_items(results)


def _batch(items: Sequence[Mapping[str, Any]]) -> "IndexDocumentsBatch":
    """The vectors are put in afterwards: the SDK examines each number of what it is made of, slowly."""
    batch = models.IndexDocumentsBatch()
    plain = [{name: value for name, value in item.items() if name != VECTOR_FIELD} for item in items]
    actions = batch.add_merge_or_upload_actions(plain)
    for action, item in zip(actions, items, strict=True):
        if VECTOR_FIELD in item:
            action[VECTOR_FIELD] = item[VECTOR_FIELD]
    return batch


def _neighbours(vector: Sequence[float], wanted: int) -> "models.VectorizedQuery":
    return models.VectorizedQuery(
        vector=list(vector), k_nearest_neighbors=max(wanted, NEIGHBOURS), fields=VECTOR_FIELD
    )


def _hit(item: dict[str, Any]) -> Hit:
    payload = _payload(item)
    highlights = (item.get("@search.highlights") or {}).get("text", [])
    return Hit(float(item["@search.score"]), payload, list(highlights))


def _raise_for_items(results: Iterable[Any]) -> None:
    """An answer of 200 can still hold items that failed: those that may pass, and those that will not."""
    failed = {result.key: result for result in results if not result.succeeded}
    if not failed:
        return
    rejected = {
        key: _reason(result) for key, result in failed.items() if result.status_code not in _RETRYABLE
    }
    if rejected:
        key, reason = next(iter(rejected.items()))
        raise RejectedItemsError(f"{len(rejected)} items were refused, among them {key}: {reason}", rejected)
    key, result = next(iter(failed.items()))
    raise PartialWriteError(
        f"{len(failed)} items were not stored, among them {key}: {_reason(result)}",
        {key: _reason(result) for key, result in failed.items()},
    )


def _reason(result: Any) -> str:
    return f"{result.status_code} {result.error_message or ''}".strip()


def _payload(item: Mapping[str, Any]) -> dict[str, Any]:
    """What we stored, without what the service adds (@search.score and the like)."""
    return {name: value for name, value in item.items() if not name.startswith("@")}
