"""The app's embedder for summarizers, which work in threads of their own and wait for it."""

import asyncio
from collections.abc import Sequence

from shared.clients.connections import Clients
from shared.domain.summaries.models import Embed
from shared.domain.summaries.tfidf import Matrix
from shared.embedding.instance import embedder
from shared.embedding.port import Embedder


def embed_with(model: Embedder) -> Embed:
    """To be called from another thread than the running loop's. A text without a vector is a row of zeros."""
    loop = asyncio.get_running_loop()

    def embed(texts: Sequence[str]) -> Matrix:
        settled = asyncio.run_coroutine_threadsafe(model.encode_each(texts), loop).result()
        return settled.vectors

    return embed


async def sentence_embedder(clients: Clients) -> Embed | None:
    """What compares sentences by meaning, where the settings ask for it."""
    if clients.settings.SUMMARY_SENTENCES == "words":
        return None
    return embed_with(await embedder(clients))
