"""AI Search: create the index, upsert with a result for each item, and search by words and vectors."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from shared.azure.calls import Calls
from shared.azure.search.fields import VECTOR_FIELD, FacetValue, Filters, any_of
from shared.azure.search.versions import BAD_REQUEST, IndexMissingError, Versions
from shared.core.concurrency import batches_of
from shared.core.errors import PartialWriteError, RejectedItemsError
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
SEARCHED = ["text", "subject", "sender_name"]
NAMED_AT_ONCE = 500
NEIGHBOURS = 50  # the minimum number of merged results of each ranking
PAYLOAD = [
    "chunk_id", "message_key", "message_id", "thread_id", "archive_id", "source", "chunk_index", "text",
    "sender", "sender_name", "writer", "date", "subject", "draft_mentions", "token_count",
    "embedding_model", "embedding_date",
]  # fmt: skip
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
    facets: dict[str, list[FacetValue]]
    total: int | None


class Index:
    """The index behind the alias `name`, for an app that embeds with one model."""

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
        self._connect, self._admin, self.name, self._model = connect, admin, name, model
        self._connected: dict[str, SearchClient] = {}
        self._calls = calls or Calls("search")
        self.versions = Versions(admin, name, model, (runtime or Runtime()).monotonic, self._calls)

    async def upsert(self, items: Sequence[Mapping[str, Any]]) -> None:
        for batch in batches_of(items, MAX_BATCH):
            async with self._calls.measured("upsert", writes=True):
                try:
                    results = await self._documents(self.versions.own).index_documents(_batch(batch))
                except ResourceNotFoundError as error:
                    self.versions.doubt()
                    raise IndexMissingError(self.versions.own) from error
            _raise_for_items(results)

    async def delete(self, chunk_ids: Iterable[str]) -> None:
        for batch in batches_of(list(chunk_ids), MAX_BATCH):
            for name in {self.versions.own, await self.versions.live()}:
                async with self._calls.measured("delete", writes=True):
                    results = await self._documents(name).delete_documents(
                        [{"chunk_id": chunk_id} for chunk_id in batch]
                    )
                _raise_for_items(results)

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
        facets: Sequence[str] = (),
        total: bool = False,
        latest_first: bool = False,
    ) -> Hits:
        """Search by words, by vector, or both. An index of another model is searched by words alone."""
        options: dict[str, Any] = {
            "filter": (filters or Filters()).to_odata(),
            "top": top,
            "skip": skip,
            "select": PAYLOAD,
            "include_total_count": total,
            "search_fields": SEARCHED if text else None,
        }
        if latest_first:
            options["order_by"] = ["date desc", "chunk_index"]
        if highlight:
            options["highlight_fields"] = "text"
            options["highlight_pre_tag"], options["highlight_post_tag"] = marks
        if facets:
            options["facets"] = list(facets)
        everything = dict(options)
        if vector is not None:
            nearest = max(top + skip, NEIGHBOURS)
            near = models.VectorizedQuery(
                vector=list(vector), k_nearest_neighbors=nearest, fields=VECTOR_FIELD
            )
            everything |= {"vector_queries": [near], "select": [*PAYLOAD, VECTOR_FIELD]}
        hits = await self._search_live(text, everything)
        models_found = {hit.payload.get("embedding_model") for hit in hits or ()}
        if hits is not None and (vector is None or models_found == {self._model}):
            return hits
        live, own = await self.versions.live(anew=bool(hits) or hits is None), self.versions.own
        if live == own and hits is not None:
            return hits
        by_words = live != own and text
        return await self._search(live if by_words else own, text, options if by_words else everything)

    async def _search_live(self, text: str | None, options: Mapping[str, Any]) -> Hits | None:
        """Search the alias. Return None if it is missing or refuses the vector. Hits name the live index."""
        try:
            return await self._search(self.name, text, options)
        except ResourceNotFoundError:
            return None
        except HttpResponseError as error:
            if error.status_code == BAD_REQUEST and "vector_queries" in options:
                return None
            raise

    async def _search(self, name: str, text: str | None, options: Mapping[str, Any]) -> Hits:
        async with self._calls.measured("search"):
            results = await self._documents(name).search(text, **options)
            hits = [
                Hit(
                    float(item["@search.score"]),
                    _payload(item),
                    list((item.get("@search.highlights") or {}).get("text", [])),
                )
                async for item in results
            ]
            found = Hits(hits)
            counted = await results.get_facets() if options.get("facets") else None
            found.facets = {
                field: [FacetValue(str(facet["value"]), int(facet["count"])) for facet in values]
                for field, values in (counted or {}).items()
            }
            found.total = await results.get_count() if options["include_total_count"] else None
            return found

    async def places(self, chunk_ids: Sequence[str]) -> dict[str, str | None]:
        """Return the chunks that have a vector, each with the thread in its label."""
        found: dict[str, str | None] = {}
        for batch in batches_of(chunk_ids, NAMED_AT_ONCE):
            async for row in self.listed(any_of("chunk_id", batch)):
                found[row["chunk_id"]] = row["thread_id"]
        return found

    async def listed(self, condition: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the entries of this model's index that match, unordered and without texts and vectors."""
        selected = ["chunk_id", "thread_id", "embedding_date"]
        found = await self._documents(self.versions.own).search("*", filter=condition, select=selected)
        pages = found.by_page()
        while True:
            async with self._calls.measured("list"):  # each page is a call
                page = await anext(pages, None)
                items = [] if page is None else [_payload(item) async for item in page]
            if page is None:
                return
            for item in items:
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


def _batch(items: Sequence[Mapping[str, Any]]) -> "IndexDocumentsBatch":
    """Return the batch. Its vectors are added last, because the SDK validates each number slowly."""
    batch = models.IndexDocumentsBatch()
    plain = [{name: value for name, value in item.items() if name != VECTOR_FIELD} for item in items]
    actions = batch.add_merge_or_upload_actions(plain)
    for action, item in zip(actions, items, strict=True):
        if VECTOR_FIELD in item:
            action[VECTOR_FIELD] = item[VECTOR_FIELD]
    return batch


def _raise_for_items(results: Iterable[Any]) -> None:
    """Raise for failed items, transient or permanent. A response of 200 may contain failed items."""
    failed = [result for result in results if not result.succeeded]
    rejected = {result.key: _reason(result) for result in failed if result.status_code not in _RETRYABLE}
    if rejected:
        key, reason = next(iter(rejected.items()))
        raise RejectedItemsError(f"{len(rejected)} items were refused, among them {key}: {reason}", rejected)
    if failed:
        waiting = {result.key: _reason(result) for result in failed}
        key, reason = next(iter(waiting.items()))
        text = f"{len(failed)} items were not stored, among them {key}: {reason}"
        raise PartialWriteError(text, waiting)


def _reason(result: Any) -> str:
    return f"{result.status_code} {result.error_message or ''}".strip()


def _payload(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored fields without the fields that the service adds, such as @search.score."""
    return {name: value for name, value in item.items() if not name.startswith("@")}
