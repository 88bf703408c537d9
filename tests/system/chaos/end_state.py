"""The end state: everything that a reader or an operator could see, without times."""

import asyncio
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.queries.named_query import NO_ENTRY, NamedQuery
from shared.settings.app import Settings
from tests.support.index_rows import indexed

__all__ = ["QUERIES", "end_state"]

QUERIES = {
    "messages": "SELECT c.id, c.thread_id, c.archive_ids, c.status, c.body_normalized FROM c",
    "chunks": "SELECT c.id, c.thread_id, c.text, c.embedding_generated, c.status FROM c",
    "threads": "SELECT c.id, c.message_count, c.status, c.summary_id, c.merged_into, c.has_consensus FROM c"
    f" WHERE {NO_ENTRY}",
    "summaries": "SELECT c.id, c.content_markdown, c.citations FROM c",
    "reports": "SELECT c.id, c.summary_id FROM c",
}


def end_state(settings: Settings) -> dict[str, Any]:
    return asyncio.run(_end_state(settings))


async def _end_state(settings: Settings) -> dict[str, Any]:
    clients = await Clients.connect(settings)
    try:
        state: dict[str, Any] = {name: await _rows(clients, name, text) for name, text in QUERIES.items()}
        reported = {row["summary_id"] for row in state["reports"]}  # crashes decide which others exist
        state["summaries"] = [row for row in state["summaries"] if row["id"] in reported]
        vectors = [
            await indexed(clients.index, row["id"]) for row in state["chunks"] if row["embedding_generated"]
        ]
        state["vectors"] = [vector and (vector["chunk_id"], vector["thread_id"]) for vector in vectors]
        return state
    finally:
        await clients.close()


async def _rows(clients: Clients, container: str, text: str) -> list[dict[str, Any]]:
    query = NamedQuery("end_state", container, text)
    found = [document async for document in clients.store.query(query, Session())]
    return sorted(found, key=lambda document: str(document["id"]))
