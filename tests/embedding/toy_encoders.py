"""Encoders that fail as real ones do, triggered by words in the texts."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shared.embedding.encoder import Vectors

SPEC = f"{__name__}:ToyEncoder"


class ToyEncoder:
    """An encoder whose vectors encode the length of the text. Every batch is recorded in `journal`."""

    model, backend, window, token_budget = "toy", "toy", 16, 64

    def __init__(
        self,
        journal: str,
        *,
        holds_tokens: int = 10_000,
        ill: bool = False,
        start: str = "",
        dimension: int = 4,
    ) -> None:
        self.dimension = dimension
        self._journal = Path(journal)
        self._holds_tokens = holds_tokens
        self._ill = ill
        if start == "refuse":
            raise ValueError("the model is missing")
        if start == "crash once" and not self._journal.exists():
            self._note("start")
            os.kill(os.getpid(), signal.SIGSEGV)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def encode(self, texts: Sequence[str]) -> Vectors:
        self._note("|".join(texts))
        print("a library that prints to standard output")
        for text in texts:
            self._suffer(text)
        if self._ill:
            os.kill(os.getpid(), signal.SIGSEGV)
        if sum(self.count_tokens(texts)) > self._holds_tokens:
            raise RuntimeError("std::bad_alloc")
        zeros = [0] * (self.dimension - 2)
        return np.array([[len(text), *zeros, 1] for text in texts], np.float32)

    def _suffer(self, text: str) -> None:
        words = text.split()
        once = "once" in words and self._journal.read_text().count(text) > 1
        if once:
            return
        if "crash" in words:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "oom-killed" in words:
            os.kill(os.getpid(), signal.SIGKILL)
        if "hang" in words:
            time.sleep(600)
        if "refuse" in words:
            raise ValueError("this text cannot be encoded")

    def _note(self, line: str) -> None:
        with self._journal.open("a") as journal:
            journal.write(line + "\n")
