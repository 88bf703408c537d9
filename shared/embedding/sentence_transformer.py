"""An encoder for any sentence-transformers model, with the torch that the user installs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shared.embedding.encoder import Vectors, clean_for_tokenizer, normalised, plan_batches, require_texts

BACKEND = "sentencetransformers"
REQUIREMENTS = "requirements-sentence-transformers.txt"
_DEFAULT_WINDOW = 512


class SentenceTransformerEncoder:
    backend = BACKEND

    def __init__(self, model: str, path: str | None = None) -> None:
        try:
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - gigabytes, for this alone
        except ImportError as error:
            raise ImportError(
                f"EMBEDDING_BACKEND {BACKEND} needs more packages: pip install -r {REQUIREMENTS} ({error})"
            ) from error
        self.model = model
        self._model: Any = SentenceTransformer(path or model)
        self.window = int(self._model.max_seq_length or _DEFAULT_WINDOW)
        self.token_budget = max(1024, self.window)
        self.dimension = int(self._model.encode([""]).shape[1])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        tokenizer = self._model.tokenizer
        return [
            len(tokenizer(clean_for_tokenizer(text), truncation=False, verbose=False)["input_ids"])
            for text in texts
        ]

    def tokenizer(self) -> str:
        fast = getattr(self._model.tokenizer, "backend_tokenizer", None)
        if fast is None:
            raise ValueError(f"{self.model} has no fast tokenizer: chunks cannot be measured in its tokens")
        return str(fast.to_str())

    def encode(self, texts: Sequence[str]) -> Vectors:
        require_texts(texts)
        vectors: Vectors = np.zeros((len(texts), self.dimension), np.float32)
        plan = plan_batches(self.count_tokens(texts), budget=self.token_budget, window=self.window)
        for batch in plan.batches:
            chosen = [clean_for_tokenizer(texts[position]) for position in batch]
            encoded = self._model.encode(chosen, batch_size=len(chosen), show_progress_bar=False)
            vectors[list(batch)] = normalised(np.asarray(encoded, np.float32))
        return vectors
