"""A cache of vectors that are not stored yet, so that after a failed write only the write is repeated."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import numpy as np

from shared.embedding.encoder import Vectors

MAX_BYTES = 64 * 1024 * 1024


class VectorCache:
    """Vectors by chunk, model and text. The oldest are dropped first, and would be computed again."""

    def __init__(self) -> None:
        self._bytes = 0
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()

    def keep(self, key: str, vector: Vectors) -> None:
        self.drop([key])
        # A copy, because a view would keep its whole batch in memory
        self._vectors[key] = np.array(vector, np.float32)
        self._bytes += vector.nbytes
        while self._bytes > MAX_BYTES and self._vectors:
            _, oldest = self._vectors.popitem(last=False)
            self._bytes -= oldest.nbytes

    def find(self, keys: Iterable[str]) -> Mapping[str, Vectors]:
        return {key: self._vectors[key] for key in keys if key in self._vectors}

    def drop(self, keys: Iterable[str]) -> None:
        for key in keys:
            if (vector := self._vectors.pop(key, None)) is not None:
                self._bytes -= vector.nbytes

    async def close(self) -> None:
        self._vectors.clear()
        self._bytes = 0

    @staticmethod
    def key(chunk_id: str, model: str, text: str) -> str:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{chunk_id}/{model}/{digest}"
