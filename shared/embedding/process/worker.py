"""The encoder's process: `python -m shared.embedding.process.worker`, started by child.py.

The first frame names the encoder. Each further frame has texts, and its answer has vectors or an error. A
thread ends the process when standard input closes, even during a batch.
"""

import importlib
import os
import queue
import sys
import threading
from contextlib import suppress
from typing import Any

import numpy as np

from shared.core.frames import Frame, FrameError, encode_frame, read_frame
from shared.embedding.encoder import Encoder

# The messages of the runtimes when memory is short. None of them raises MemoryError.
_NO_MEMORY = (
    "bad alloc", "bad_alloc", "out of memory", "not enough memory", "can't allocate", "cannot allocate",
    "could not allocate", "failed to allocate",
)  # fmt: skip
_DESCRIPTION = ("model", "backend", "dimension", "window", "token_budget")


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # The output of libraries goes to standard error, and cannot break a frame.
    requests: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests,), name="lifeline", daemon=True).start()
    encoder: Encoder | None = None
    while True:
        request = requests.get()
        try:
            if encoder is None:
                module, _, name = request.header["factory"].partition(":")
                encoder = getattr(importlib.import_module(module), name)(**request.header["arguments"])
                answer = Frame({name: getattr(encoder, name) for name in _DESCRIPTION})
            else:
                answer = _answer(encoder, request.header)
        except Exception as error:  # noqa: BLE001 - it is reported, and its sender decides
            answer = Frame({"error": _kind(error), "message": f"{type(error).__name__}: {error}"[:4000]})
        answers.write(encode_frame(answer))
        answers.flush()


def _receive(requests: "queue.SimpleQueue[Frame]") -> None:
    """Receive requests. End this process when the stream ends, because the parent is gone."""
    with suppress(FrameError):
        while (request := read_frame(sys.stdin.buffer)) is not None:
            requests.put(request)
    os._exit(0)


def _answer(encoder: Encoder, header: dict[str, Any]) -> Frame:
    if "count" in header:
        return Frame({"counts": encoder.count_tokens(header["count"])})
    if "tokenizer" in header:
        return Frame({}, encoder.tokenizer().encode())
    vectors = np.ascontiguousarray(encoder.encode(header["encode"]), np.float32)
    return Frame({"shape": vectors.shape}, vectors.tobytes())


def _kind(error: Exception) -> str:
    text = str(error).lower()
    starved = isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY)
    return "memory" if starved else "permanent"


if __name__ == "__main__":
    main()
