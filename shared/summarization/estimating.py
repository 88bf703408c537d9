"""Estimate the cost of reading threads with the chat model."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.model_reading.numbered import number_thread
from shared.models.threads import Thread
from shared.reading.linked_thread import LinkedThread
from shared.summarization.summarizers import EXTRACTIVE, answer_token_limit
from shared.summarization.thread_context import load_context

_SAMPLE = 25
_ANSWER_TOKENS = 600
"""The tokens of one answer. Answers on labeled threads had 500."""


@dataclass(frozen=True, slots=True)
class ReadingEstimate:
    """Calls and tokens of all threads, extrapolated from a sample, erring on the high side."""

    threads: int
    sampled: int
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __str__(self) -> str:
        return (
            f"about {self.calls:,} calls, {self.prompt_tokens:,} tokens in and {self.answer_tokens:,} out"
            f" (by {self.sampled:,} of the threads)"
        )


async def estimate_reading(clients: Clients, threads: Sequence[str]) -> ReadingEstimate | None:
    """Return the estimate, or None without a chat model."""
    settings, session = clients.settings, Session()
    if settings.SUMMARY_BACKEND == EXTRACTIVE:
        return None
    window = settings.SUMMARY_CONTEXT_TOKENS
    sample = threads[:: max(1, len(threads) // _SAMPLE)][:_SAMPLE]
    sampled = calls = prompt = 0
    for id_ in sample:
        thread = await clients.store.find(Thread, id_, session)
        if thread is None:
            continue  # Merged or deleted after it was listed.
        try:
            context = await load_context(clients, thread, session, window=window)
        except DocumentNotFoundError:
            continue  # Its messages are not stored yet.
        linked = LinkedThread(context.mails, context.profile)
        parts = number_thread(linked, context.subject, room=window - answer_token_limit(window)).parts
        merging = max((part.tokens for part in parts), default=0) if len(parts) > 1 else 0
        sampled += 1
        calls += len(parts) + (merging > 0)
        prompt += sum(part.tokens for part in parts) + merging
    times = len(threads) / max(1, sampled)
    return ReadingEstimate(
        len(threads),
        sampled,
        round(calls * times),
        round(prompt * times),
        round(calls * times * _ANSWER_TOKENS),
    )
