"""An embedder whose encoder runs in its own process, because a model can crash, block or use all memory."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from shared.azure.telemetry.metrics import pipeline_metrics
from shared.core.concurrency import batches_of
from shared.core.errors import (
    EncoderCrashError,
    EncoderError,
    EncoderMemoryError,
    EncoderStartError,
    PermanentError,
    UnencodableTextError,
)
from shared.core.frames import Frame
from shared.embedding.encoder import (
    MAX_TEXTS,
    EncodingResult,
    Vectors,
    clean_for_tokenizer,
    report_truncated,
    require_texts,
)
from shared.embedding.process.child import Child, EncoderSpec
from shared.embedding.process.text_queue import BatchAttempt, BatchRetryPolicy, Call, Item, WaitingTexts

log = logging.getLogger(__name__)
# After so many successful batches, the token budget that a lack of memory halved is doubled again.
_CALM_BATCHES = 50
_COUNTED_AT_ONCE = 256
# The encoder gets several batches at once, which gives the app time for its own work.
BATCHES_AT_ONCE = 4
MAX_WAITING = 8192  # Texts. A call that finds more waits before it adds its texts.
_HARMLESS = "ok"
_PATIENCE = 8.0


@dataclass(frozen=True)
class ProcessOptions:
    batch_seconds: float = 60.0
    start_seconds: float = 120.0
    attempts: BatchRetryPolicy = field(default_factory=BatchRetryPolicy)


class EncoderProcess:
    """The embedder. Concurrent calls share batches, and one task feeds the encoder."""

    def __init__(
        self,
        spec: EncoderSpec,
        options: ProcessOptions | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._spec = spec
        self._options = options or ProcessOptions()
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._waiting = WaitingTexts()
        self._room = asyncio.Condition()
        self._worker: asyncio.Task[None] | None = None
        self._child: Child | None = None
        self._calm = 0
        self._closed = False
        self.restarts = 0
        self.model = self.backend = ""
        self.dimension = self.window = self._full_budget = self.token_budget = 0

    @classmethod
    async def start(cls, spec: EncoderSpec, options: ProcessOptions | None = None, **more: Any) -> Self:
        embedder = cls(spec, options, **more)
        description = (await embedder._living_child()).description
        embedder.model, embedder.backend = description["model"], description["backend"]
        embedder.dimension, embedder.window = description["dimension"], description["window"]
        embedder._full_budget = embedder.token_budget = description["token_budget"]
        return embedder

    @property
    def pid(self) -> int | None:
        return None if self._child is None else self._child.pid

    async def close(self) -> None:
        self._closed = True
        if self._child is not None:
            await self._child.kill()
        if self._worker is not None:
            await asyncio.wait({self._worker})
        if self._child is not None:  # The worker may have started another child.
            await self._child.kill()
            self._child = None

    async def encode(self, texts: Sequence[str]) -> Vectors:
        return (await self.encode_each(texts)).complete()

    async def encode_each(self, texts: Sequence[str]) -> EncodingResult:
        """See Embedder. The whole call fails only if the encoder cannot start or fails on every text."""
        require_texts(texts)
        counts = await self.count_tokens(texts)
        truncated = tuple(position for position, count in enumerate(counts) if count > self.window)
        settled = EncodingResult(np.zeros((len(texts), self.dimension), np.float32), truncated=truncated)
        report_truncated(truncated, len(texts), self.window)
        if not texts:
            return settled
        lengths = [min(count, self.window) for count in counts]
        call = Call(texts, lengths, settled, asyncio.get_running_loop().create_future())
        async with self._room:
            await self._room.wait_for(lambda: not self._waiting or len(self._waiting) < MAX_WAITING)
            self._waiting.add(call)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            return await call.done
        finally:
            self._waiting.remove(call)  # If the call was canceled or failed.

    async def _work(self) -> None:
        """Encode batches until no text waits. Failed batches are retried first."""
        again: list[BatchAttempt[Item]] = []
        while again or self._waiting:
            batches = 1 if self._is_short_of_memory else BATCHES_AT_ONCE
            budget, most = self.token_budget * batches, MAX_TEXTS * batches
            attempt = again.pop() if again else BatchAttempt(self._waiting.take(budget, most))
            attempt = attempt.of(item for item in attempt.items if not item.call.done.done())
            if not attempt.items:
                continue
            if pieces := self._pieces(attempt):
                again += pieces
                continue
            try:
                again += await self._attempt(attempt)
            except Exception as error:  # noqa: BLE001 - it is every caller's whose text it was
                self._fail(attempt, error)
            async with self._room:
                self._room.notify_all()

    def _fail(self, attempt: BatchAttempt[Item], error: Exception) -> None:
        """Fail the calls of a batch whose texts are not the cause. A failed start fails all waiting calls."""
        calls = {item.call for item in attempt.items}
        if isinstance(error, EncoderStartError):
            calls.update(self._waiting.calls())
        for call in calls:
            self._waiting.remove(call)
            if not call.done.done():
                call.done.set_exception(error)

    def _pieces(self, attempt: BatchAttempt[Item]) -> list[BatchAttempt[Item]]:
        """Split a batch that was taken before the budget was reduced."""
        if not self._is_short_of_memory:
            return []
        longest = max(item.length for item in attempt.items)
        size = max(self.token_budget // max(longest, 1), 1)
        if len(attempt.items) <= size:
            return []
        return [attempt.of(part) for part in batches_of(attempt.items, size)][::-1]

    async def _attempt(self, attempt: BatchAttempt[Item]) -> list[BatchAttempt[Item]]:
        """Encode one batch. Return the batches to try next if it failed."""
        try:
            vectors = await self._encode_batch([item.text for item in attempt.items], attempt.timeout_factor)
        except EncoderStartError:
            raise
        except (EncoderError, UnencodableTextError) as error:
            return await self._after_failure(attempt, error)
        for item, vector in zip(attempt.items, vectors, strict=True):
            item.call.settled.vectors[item.position] = vector
            _count_down(item.call)
        self._calm += 1
        if self._calm >= _CALM_BATCHES and self._is_short_of_memory:
            self._calm = 0
            self.token_budget = min(self.token_budget * 2, self._full_budget)
        return []

    async def _after_failure(
        self, attempt: BatchAttempt[Item], error: EncoderError | UnencodableTextError
    ) -> list[BatchAttempt[Item]]:
        attempts = self._options.attempts
        log.warning(
            "a batch of %d texts failed (attempt %d/%d): %s",
            len(attempt.items), attempt.failures + 1, attempts.max_retries + 1, error,
        )  # fmt: skip
        if isinstance(error, EncoderMemoryError):
            self._calm = 0
            self.token_budget = max(self.token_budget // 2, min(self.window, self._full_budget))
            log.warning("memory is short: batches of %d tokens from now on", self.token_budget)
        following = attempts.after(attempt, error)
        if following:
            await self._sleep(attempts.wait_seconds(attempt.failures + 1, error))
        else:
            try:  # An encoder that fails on every text may recover, so test it first.
                await self._encode_batch([_HARMLESS], _PATIENCE)
            except UnencodableTextError as refused:
                raise EncoderCrashError(f"the encoder fails on every text: {refused}") from refused
            final = error
            if not isinstance(final, UnencodableTextError):
                final = UnencodableTextError(f"no vector after {attempt.failures + 1} attempts: {error}")
                final.__cause__ = error
            (item,) = attempt.items
            item.call.settled.failed[item.position] = final
            _count_down(item.call)
        return following[::-1]

    @property
    def _is_short_of_memory(self) -> bool:
        return self.token_budget < self._full_budget

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the encoder's counts. A text that it cannot count gets the length of the window."""
        require_texts(texts)
        counts: list[int] = []
        for batch in batches_of(texts, _COUNTED_AT_ONCE):
            counts += await self._count([clean_for_tokenizer(text) for text in batch])
        return counts

    async def tokenizer(self) -> str:
        """Return the tokenizer definition (tokenizer.json). Raise if the encoder has none."""
        return (await self._ask({"tokenizer": True})).body.decode()

    async def _count(self, texts: list[str]) -> list[int]:
        for _ in range(self._options.attempts.max_retries + 1):
            try:
                counts = (await self._ask({"count": texts})).header["counts"]
            except EncoderStartError:
                raise
            except (EncoderError, UnencodableTextError) as error:
                log.warning("the tokens of %d texts could not be counted: %s", len(texts), error)
            else:
                return [int(count) for count in counts]
        return [self.window] * len(texts)

    async def _encode_batch(self, texts: Sequence[str], timeout_factor: float = 1.0) -> Vectors:
        answer = await self._ask({"encode": [clean_for_tokenizer(text) for text in texts]}, timeout_factor)
        vectors: Vectors = np.frombuffer(answer.body, np.float32).reshape(answer.header["shape"])
        if vectors.shape != (len(texts), self.dimension):
            raise UnencodableTextError(f"the encoder gave vectors of shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise UnencodableTextError("the encoder gave vectors that are not finite")
        return vectors

    async def _ask(self, request: dict[str, Any], timeout_factor: float = 1.0) -> Frame:
        async with self._turn:
            child = await self._living_child()
            return await child.ask(request, timeout=self._options.batch_seconds * timeout_factor)

    async def _living_child(self) -> Child:
        if self._closed:
            raise EncoderStartError("the embedder is closed")
        if self._child is not None and self._child.alive:
            return self._child
        if self._child is not None:
            await self._child.kill()  # The process is dead. This closes its pipes.
            self._child = None
            self.restarts += 1
            pipeline_metrics().encoder_restarts.add(1)
        self._child = await self._start_child()
        return self._child

    async def _start_child(self) -> Child:
        """Start the process, with retries unless the error is permanent, such as a missing model."""
        attempts = self._options.attempts
        for failures in range(1, attempts.max_retries + 2):
            try:
                return await Child.start(self._spec, timeout=self._options.start_seconds)
            except EncoderStartError as error:
                if isinstance(error.__cause__, PermanentError) or failures > attempts.max_retries:
                    raise
                log.warning("%s (attempt %d/%d)", error, failures, attempts.max_retries + 1)
                await self._sleep(attempts.wait_seconds(failures, error))
        raise EncoderStartError


def _count_down(call: Call) -> None:
    call.left -= 1
    if not call.left and not call.done.done():
        call.done.set_result(call.settled)
