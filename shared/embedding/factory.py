"""The embedder that the settings ask for."""

from shared.embedding.openai_embedder import OpenAIEmbedder
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.embedding.port import Embedder
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess
from shared.settings.app import Settings


async def open_embedder(settings: Settings) -> Embedder:
    """Start what embeds texts; its owner closes it."""
    if settings.EMBEDDING_BACKEND in {"azureopenai", "openai"}:
        return OpenAIEmbedder.from_settings(settings)
    return await EncoderProcess.start(encoder_spec(settings))


def encoder_spec(settings: Settings) -> EncoderSpec:
    path = settings.EMBEDDING_MODEL_PATH
    if settings.EMBEDDING_BACKEND == "sentencetransformers":
        arguments = {"model": settings.EMBEDDING_MODEL, "path": None if path is None else str(path)}
        return EncoderSpec("shared.embedding.sentence_transformer:SentenceTransformerEncoder", arguments)
    folder = str(path or DEFAULT_FOLDER)
    return EncoderSpec("shared.embedding.encoder_loading:load_openvino", {"folder": folder})
