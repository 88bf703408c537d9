"""Create the embedder that the settings select."""

import asyncio
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shared.azure.connections import Clients
from shared.embedding.encoder import Embedder
from shared.embedding.openai_embedder import OpenAIEmbedder
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess
from shared.settings.app import Settings


async def open_embedder(settings: Settings) -> Embedder:
    if settings.EMBEDDING_BACKEND in {"azureopenai", "openai"}:
        return OpenAIEmbedder.from_settings(settings)
    return await EncoderProcess.start(encoder_spec(settings))


def encoder_spec(settings: Settings) -> EncoderSpec:
    path = settings.EMBEDDING_MODEL_PATH
    if settings.EMBEDDING_BACKEND == "sentencetransformers":
        arguments = {"model": settings.EMBEDDING_MODEL, "path": None if path is None else str(path)}
        return EncoderSpec("shared.embedding.sentence_transformer:SentenceTransformerEncoder", arguments)
    folder = str(path or DEFAULT_FOLDER)
    return EncoderSpec("shared.embedding.openvino.encoder:OpenVinoEncoder", {"folder": folder})


EMBEDDER = "embedder"


async def embedder(clients: Clients) -> Embedder:
    return await clients.resources.get(EMBEDDER, lambda: open_embedder(clients.settings))


def embed_with(model: Embedder) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """Return a function for other threads than the loop's. A text without a vector has a row of zeros."""
    loop = asyncio.get_running_loop()

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return asyncio.run_coroutine_threadsafe(model.encode_each(texts), loop).result().vectors

    return embed
