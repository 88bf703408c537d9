"""AI Search, thin over the SDK: ensure the index, upsert with the result of each item, hybrid search."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.models import VectorizedQuery

from shared.calls import Calls
from shared.errors import PartialWriteError, RejectedItemsError
from shared.index.definition import VECTOR_FIELD, index_definition
from shared.index.filters import Filters

__all__ = ["Hit", "Index"]

MAX_BATCH = 1000
PAYLOAD = [
    "chunk_id", "message_key", "message_id", "thread_id", "archive_id", "source", "chunk_index", "text",
    "sender", "sender_name", "date", "subject", "draft_mentions", "token_count",
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


class Index:
    def __init__(
        self, documents: SearchClient, admin: SearchIndexClient, name: str, calls: Calls | None = None
    ) -> None:
        self._documents = documents
        self._admin = admin
        self.name = name
        self._calls = calls or Calls("search")

    async def ensure(self, dimensions: int) -> None:
        """Create the index, or bring it up to the current definition."""
        async with self._calls.measured("ensure"):
            await self._admin.create_or_update_index(index_definition(self.name, dimensions))

    async def upsert(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Store all of them. What was refused is named: for good, or for now."""
        for start in range(0, len(items), MAX_BATCH):
            await self._upsert(items[start : start + MAX_BATCH])

    async def delete(self, chunk_ids: Iterable[str]) -> None:
        ids = list(chunk_ids)
        for start in range(0, len(ids), MAX_BATCH):
            async with self._calls.measured("delete"):
                results = await self._documents.delete_documents(
                    [{"chunk_id": chunk_id} for chunk_id in ids[start : start + MAX_BATCH]]
                )
            _raise_for_items(results)

    async def get(self, chunk_id: str) -> dict[str, Any] | None:
        async with self._calls.measured("get"):
            try:
                found = await self._documents.get_document(chunk_id)
            except ResourceNotFoundError:
                return None
        return dict(found)

    async def search(
        self,
        text: str | None,
        vector: Sequence[float] | None = None,
        *,
        filters: Filters | None = None,
        top: int = 20,
        highlight: bool = False,
    ) -> list[Hit]:
        """By words, by meaning, or by both (merged by rank), within the filters."""
        options: dict[str, Any] = {"filter": (filters or Filters()).to_odata(), "top": top, "select": PAYLOAD}
        if vector is not None:
            options["vector_queries"] = [
                VectorizedQuery(vector=list(vector), k_nearest_neighbors=max(top, 50), fields=VECTOR_FIELD)
            ]
        if highlight:
            options["highlight_fields"] = "text"
        async with self._calls.measured("search"):
            results = await self._documents.search(text, **options)
            return [_hit(item) async for item in results]

    async def chunks_of_thread(
        self, thread_id: str, *, with_vectors: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """Everything indexed of one thread, in the order of its chunks."""
        select = [*PAYLOAD, VECTOR_FIELD] if with_vectors else PAYLOAD
        async with self._calls.measured("thread"):
            results = await self._documents.search(
                "*",
                filter=Filters(thread_id=thread_id).to_odata(),
                order_by=["date", "chunk_index"],
                select=select,
            )
        async for item in results:
            yield {name: value for name, value in item.items() if not name.startswith("@")}

    async def close(self) -> None:
        await self._documents.close()
        await self._admin.close()

    async def _upsert(self, items: Sequence[Mapping[str, Any]]) -> None:
        async with self._calls.measured("upsert"):
            results = await self._documents.merge_or_upload_documents([dict(item) for item in items])
        _raise_for_items(results)


def _hit(item: dict[str, Any]) -> Hit:
    payload = {name: value for name, value in item.items() if not name.startswith("@")}
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
