"""The rows of the search index."""

from typing import Any

from azure.core.exceptions import ResourceNotFoundError

from shared.azure.search.fields import VECTOR_FIELD, Filters
from shared.azure.search.index import PAYLOAD, Index


async def indexed(index: Index, chunk_id: str) -> dict[str, Any] | None:
    """Return the row of this chunk in the index of the app's own model."""
    try:
        return dict(await index._documents(index.versions.own).get_document(chunk_id))
    except ResourceNotFoundError:
        return None


async def indexed_thread(index: Index, thread_id: str) -> list[dict[str, Any]]:
    """Return the rows of this thread with their vectors, in the order of the chunks."""
    found = await index._documents(index.versions.own).search(
        "*",
        filter=Filters(thread_id=thread_id).to_odata(),
        order_by=["date", "chunk_index"],
        select=[*PAYLOAD, VECTOR_FIELD],
    )
    return [dict(row) async for row in found]
