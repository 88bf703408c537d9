"""Count tokens with the embedding model's tokenizer, so that chunks fit its window."""

from bisect import bisect_left
from zlib import crc32

from tokenizers import Encoding, Tokenizer

WINDOW = 254
"""The text tokens that all-MiniLM-L6-v2, the default model, reads: 256 minus two special tokens."""


class TokenizedText:
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
        """Return the first token that starts at the character or later."""
        # A tuple of one element sorts before any pair with the same first number.
        return bisect_left(self._offsets, (character,))

    def begins_word(self, token: int) -> bool:
        """Return whether a word starts here. A cut elsewhere would change the tokens."""
        if self._words is None:
            self._words = self._encoding.word_ids
        return token <= 0 or token >= len(self._words) or self._words[token] != self._words[token - 1]


class ModelTokenizer:
    def __init__(self, definition: str) -> None:
        self.digest = crc32(definition.encode())
        self._tokenizer: Tokenizer = Tokenizer.from_str(definition)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @property
    def special_tokens(self) -> int:
        return int(self._tokenizer.num_special_tokens_to_add(is_pair=False))

    def tokenize(self, text: str) -> TokenizedText:
        return TokenizedText(self._tokenizer.encode(text, add_special_tokens=False))

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False))
