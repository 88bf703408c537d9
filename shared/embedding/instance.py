"""The one embedder of a client set, started on first use: one encoder has all cores."""

from shared.clients.connections import Clients
from shared.embedding.factory import open_embedder
from shared.embedding.port import Embedder

EMBEDDER = "embedder"
"""Its key among `Clients.resources`, which close it."""


async def embedder(clients: Clients) -> Embedder:
    return await clients.resources.get(EMBEDDER, lambda: open_embedder(clients.settings))
