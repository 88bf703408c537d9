"""The embedder that the settings ask for."""

from typing import Any

from shared.embedding.openai_embedder import OpenAIEmbedder
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.embedding.port import Embedder
from shared.embedding.process.batch_retries import BatchRetryPolicy
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess, ProcessOptions
from shared.settings.app import Settings


async def open_embedder(settings: Settings) -> Embedder:
    """Start what embeds texts; its owner closes it."""
    if settings.EMBEDDING_BACKEND in {"azureopenai", "openai"}:
        return OpenAIEmbedder.from_settings(settings)
    options = ProcessOptions(
        batch_seconds=settings.EMBEDDING_BATCH_SECONDS,
        start_seconds=settings.EMBEDDING_START_SECONDS,
        attempts=BatchRetryPolicy(settings.MAX_RETRIES),
        token_budget=settings.EMBEDDING_TOKEN_BUDGET,
    )
    return await EncoderProcess.start(encoder_spec(settings), options)


def encoder_spec(settings: Settings) -> EncoderSpec:
    path = settings.EMBEDDING_MODEL_PATH
    common: dict[str, Any] = {
        "threads": settings.EMBEDDING_THREADS,
        "token_budget": settings.EMBEDDING_TOKEN_BUDGET,
    }
    if settings.EMBEDDING_BACKEND == "sentencetransformers":
        arguments = {"model": settings.EMBEDDING_MODEL, "path": None if path is None else str(path), **common}
        return EncoderSpec("shared.embedding.encoder_loading:load_sentence_transformer", arguments)
    arguments = {"folder": str(path or DEFAULT_FOLDER), "precision": settings.EMBEDDING_PRECISION, **common}
    return EncoderSpec("shared.embedding.encoder_loading:load_openvino", arguments)
