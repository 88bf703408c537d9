"""Texts to token ids, as the model was trained to see them."""

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from shared.embedding.text_limits import clean_for_tokenizer


class WordPieces:
    """The tokenizer of a model folder."""

    def __init__(self, file: Path, window: int) -> None:
        self.window = window
        self._tokenizer = Tokenizer.from_file(str(file))
        # The file asks for 128 tokens, always padded; the model's own window is another.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self._all_ids(texts)]

    def ids(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """The ids of each text, cut to the window, and how many it had before."""
        whole = self._all_ids(texts)
        return [self._cut(ids) for ids in whole], [len(ids) for ids in whole]

    def _all_ids(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast([clean_for_tokenizer(text) for text in texts])
        return [encoding.ids for encoding in encodings]

    def _cut(self, ids: list[int]) -> list[int]:
        """The end marker stays the last token."""
        return ids if len(ids) <= self.window else [*ids[: self.window - 1], ids[-1]]
