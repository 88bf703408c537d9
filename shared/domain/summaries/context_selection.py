"""What of a thread a model gets to read: all of it if it fits, else a fair choice."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shared.domain.summaries.mmr import Bounds, pick_diverse
from shared.domain.summaries.models import ContextChunk, ContextMessage, ThreadContext
from shared.domain.summaries.tfidf import Matrix, centroid, tfidf

_LATEST_MESSAGES = 3


@dataclass(frozen=True, slots=True)
class ContextSelection:
    chunks: tuple[ContextChunk, ...]
    is_whole: bool
    tokens: int


def select_context(context: ThreadContext, budget_tokens: int, overhead_tokens: int = 0) -> ContextSelection:
    """The chunks to read, in the thread's order. Each costs its tokens and `overhead_tokens`.

    Where not all fit: the first message, the latest ones and every participant come first (as far as they
    fit), then up to `top_k` chunks by relevance to the subject and the thread, and by how much they add.
    """
    chunks = _in_thread_order(context)
    costs = [chunk.token_count + overhead_tokens for chunk in chunks]
    if sum(costs) <= budget_tokens:
        return ContextSelection(tuple(chunks), is_whole=True, tokens=sum(costs))
    vectors = _vectors(context, chunks)
    relevance = _relevance(context, vectors)
    chosen = _fitting(_required(context, chunks, relevance), costs, budget_tokens)
    bounds = Bounds(budget_tokens - sum(costs[index] for index in chosen), context.top_k)
    chosen += pick_diverse(relevance, vectors, costs, bounds, already=chosen)
    picked = tuple(chunks[index] for index in sorted(chosen))
    return ContextSelection(picked, is_whole=False, tokens=sum(costs[index] for index in chosen))


def _in_thread_order(context: ThreadContext) -> list[ContextChunk]:
    place = {message.key: number for number, message in enumerate(context.messages)}
    known = [chunk for chunk in context.chunks if chunk.message_key in place]
    return sorted(known, key=lambda chunk: (place[chunk.message_key], chunk.index))


def _vectors(context: ThreadContext, chunks: Sequence[ContextChunk]) -> Matrix:
    """The stored embeddings where every chunk has one; else from the embedder, else from the words."""
    stored = [chunk.vector for chunk in chunks if chunk.vector is not None]
    if len(stored) == len(chunks):
        return np.asarray(stored, dtype=np.float32)
    texts = [chunk.text for chunk in chunks]
    return np.asarray(context.embed(texts), dtype=np.float32) if context.embed else tfidf(texts)


def _relevance(context: ThreadContext, vectors: Matrix) -> NDArray[np.float64]:
    middle = vectors @ centroid(vectors)
    if context.embed is None or not context.subject:
        return np.asarray(middle, dtype=np.float64)
    subject = np.asarray(context.embed([context.subject]), dtype=np.float32)[0]
    if len(subject) != vectors.shape[1]:  # the index still has another model's vectors
        return np.asarray(middle, dtype=np.float64)
    return np.asarray((middle + vectors @ subject) / 2, dtype=np.float64)


def _required(
    context: ThreadContext, chunks: Sequence[ContextChunk], relevance: NDArray[np.float64]
) -> list[int]:
    """Indices of chunks that must not be missing, the most important first."""
    by_message: dict[str, list[int]] = {}
    for index, chunk in enumerate(chunks):
        by_message.setdefault(chunk.message_key, []).append(index)
    with_text = [message for message in context.messages if message.key in by_message]
    latest = [by_message[message.key][0] for message in reversed(with_text[-_LATEST_MESSAGES:])]
    first = [by_message[message.key][0] for message in with_text[:1]]
    stances = _stance_chunks(context, chunks)
    return list(
        dict.fromkeys(
            [*first, *latest[:1], *_best_of_each(with_text, by_message, relevance, stances), *latest]
        )
    )


def _stance_chunks(context: ThreadContext, chunks: Sequence[ContextChunk]) -> set[int]:
    """The chunks that show where a participant stands."""
    shown = {(p.evidence.message_key, p.evidence.quote) for p in context.consensus.participants if p.evidence}
    quotes: dict[str, list[str]] = {}
    for key, quote in shown:
        quotes.setdefault(key, []).append(quote)
    return {
        index
        for index, chunk in enumerate(chunks)
        if any(quote in chunk.text for quote in quotes.get(chunk.message_key, ()))
    }


def _best_of_each(
    messages: Sequence[ContextMessage],
    by_message: dict[str, list[int]],
    relevance: NDArray[np.float64],
    stances: set[int],
) -> list[int]:
    """For each participant, latest speaker first: the chunk with their stance, or their most relevant one."""
    best: dict[str, int] = {}
    for message in reversed(messages):
        person = message.sender_email.casefold() or message.sender_name.casefold() or message.key
        for index in by_message[message.key]:
            held = best.get(person)
            if held is None or (index in stances, relevance[index]) > (held in stances, relevance[held]):
                best[person] = index
    return list(best.values())


def _fitting(wanted: list[int], costs: Sequence[int], budget: int) -> list[int]:
    chosen, left = [], budget
    for index in wanted:
        if costs[index] <= left:
            chosen.append(index)
            left -= costs[index]
    return chosen
