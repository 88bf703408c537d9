"""The app's embedder for code that works in a thread of its own and waits for it."""

import asyncio
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shared.embedding.port import Embedder


def embed_with(model: Embedder) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """To be called from another thread than the running loop's. A text without a vector is a row of zeros."""
    loop = asyncio.get_running_loop()

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        settled = asyncio.run_coroutine_threadsafe(model.encode_each(texts), loop).result()
        return settled.vectors

    return embed
