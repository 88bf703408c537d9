"""Text: the embedding model's tokens, sentences, chunks. Pure: no I/O but reading the tokenizer's file."""

from shared.text.chunks import Chunk, ChunkSettings, Embedder, Strategy, chunk_body
from shared.text.sentences import sentence_starts
from shared.text.tokens import WINDOW, ModelTokenizer, TokenizerNotFoundError, find_tokenizer_file

__all__ = [
    "WINDOW",
    "Chunk",
    "ChunkSettings",
    "Embedder",
    "ModelTokenizer",
    "Strategy",
    "TokenizerNotFoundError",
    "chunk_body",
    "find_tokenizer_file",
    "sentence_starts",
]
