"""A summarizer that asks a chat model, and believes only what it can verify."""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import openai

from shared.clients.openai.errors import ChatRefusedError, as_pipeline_error
from shared.core.errors import TransientError
from shared.domain.summaries.chat_answer import parse_claims
from shared.domain.summaries.chat_prompt import (
    DEFAULT_TEMPLATE,
    CountTokens,
    Prompt,
    build_prompt,
    estimate_tokens,
)
from shared.domain.summaries.citations import supported_only
from shared.domain.summaries.claim_sections import move_to_allowed_section
from shared.domain.summaries.extractive import ExtractiveSummarizer
from shared.domain.summaries.models import Claim, Section, ThreadContext, ThreadSummary, Tokens
from shared.summarization.token_budget import MemoryTokenBudget, TokenBudget

__all__ = ["ChatSettings", "ChatSummarizer"]

log = logging.getLogger(__name__)
_MAX_ANSWER_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How a model is asked. Endpoints differ in the last two."""

    model: str
    template: str = DEFAULT_TEMPLATE
    answer_tokens: int = 1000
    timeout_seconds: float = 120.0
    answer_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    json_mode: bool = True


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    tokens: Tokens


@dataclass
class ChatSummarizer:
    """One call a summary. Where the model gives nothing usable, the extractive summary stands in."""

    client: openai.AsyncOpenAI
    settings: ChatSettings
    budget: TokenBudget = field(default_factory=MemoryTokenBudget)
    count_tokens: CountTokens = estimate_tokens
    stand_in: ExtractiveSummarizer = field(default_factory=ExtractiveSummarizer)

    @property
    def name(self) -> str:
        return self.settings.model

    async def summarize(self, context: ThreadContext) -> ThreadSummary:
        # In a thread of its own: a long discussion takes its time to read.
        extract, prompt = await asyncio.to_thread(self._prepare, context)
        if not prompt.selection.chunks:
            return _fallback_summary(extract, "the thread has no text that fits the model's context window")
        reserved = prompt.tokens + self.settings.answer_tokens
        if not await self.budget.reserve(reserved):
            return _fallback_summary(extract, "the token budget is used up")
        used = 0
        try:
            answer = await self._ask(prompt)
            tokens = self._price(prompt, answer)
            used = tokens.total
        except ChatRefusedError as error:
            # A content filter or a length limit: another try ends the same way, and the thread stays.
            log.warning("Thread %s is summarised without the model: %s", context.thread_id, error)
            return _fallback_summary(extract, "the model's endpoint refused this thread")
        except TransientError as error:
            # What the endpoint was still at work on when we hung up has its price.
            used = prompt.tokens if isinstance(error.__cause__, openai.APITimeoutError) else 0
            raise
        finally:
            await self.budget.settle(reserved, used)
        return await asyncio.to_thread(self._summary, context, extract, prompt, answer, tokens)

    def _prepare(self, context: ThreadContext) -> tuple[ThreadSummary, Prompt]:
        prompt = build_prompt(
            context,
            template=self.settings.template,
            answer_tokens=self.settings.answer_tokens,
            count_tokens=self.count_tokens,
        )
        return self.stand_in.summary(context), prompt

    def _price(self, prompt: Prompt, answer: _Answer) -> Tokens:
        """As the endpoint tells it; where it does not, by our own count."""
        return answer.tokens if answer.tokens.total else Tokens(prompt.tokens, self.count_tokens(answer.text))

    def _summary(
        self,
        context: ThreadContext,
        extract: ThreadSummary,
        prompt: Prompt,
        answer: _Answer,
        tokens: Tokens,
    ) -> ThreadSummary:
        messages = {message.key: message for message in context.messages}
        parsed = parse_claims(answer.text, prompt.chunks, messages)
        claims, rejected = supported_only(
            move_to_allowed_section(claim, context.consensus) for claim in parsed
        )
        if rejected:
            log.warning(
                "Thread %s: %d claims of %s cite what is not there",
                context.thread_id,
                len(rejected),
                self.name,
            )
        if not claims:
            return _fallback_summary(
                extract, "the model gave no claim with a verified quote", rejected, tokens
            )
        notes = (
            () if prompt.selection.is_whole else ("The model read a selection of the thread, not all of it.",)
        )
        return ThreadSummary(
            extract.title,
            (*claims, *_positions_left_out(extract, claims)),
            self.name,
            context.consensus,
            rejected,
            notes,
            tokens,
        )

    async def _ask(self, prompt: Prompt) -> _Answer:
        try:
            async with self.client.chat.completions.with_streaming_response.create(
                model=self.settings.model,
                messages=[
                    {"role": "system", "content": prompt.system},
                    {"role": "user", "content": prompt.user},
                ],
                temperature=0,
                timeout=self.settings.timeout_seconds,
                extra_body=self._options(),
            ) as response:
                return _read(await _bounded(response.iter_bytes()))
        except openai.OpenAIError as error:
            raise as_pipeline_error(error) from error

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {self.settings.answer_limit: self.settings.answer_tokens}
        if self.settings.json_mode:
            options["response_format"] = {"type": "json_object"}
        return options


async def _bounded(pieces: Any) -> bytes:
    """The body, up to a bound: an endpoint may send for ever."""
    received = bytearray()
    async for piece in pieces:
        received += piece
        if len(received) > _MAX_ANSWER_BYTES:
            raise ChatRefusedError(f"the chat endpoint's answer is longer than {_MAX_ANSWER_BYTES} bytes")
    return bytes(received)


def _read(body: bytes) -> _Answer:
    """The answer's text and price. What is no completion has no text, and is treated as an empty answer."""
    try:
        completion = json.loads(body)
    except (ValueError, RecursionError):
        return _Answer("", Tokens())
    text = _at(completion, "choices", 0, "message", "content")
    total = _count(_at(completion, "usage", "total_tokens"))
    prompt = min(_count(_at(completion, "usage", "prompt_tokens")), total)
    return _Answer(text if isinstance(text, str) else "", Tokens(prompt, total - prompt))


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return int(value) if is_count else 0


def _at(value: Any, *path: str | int) -> Any:
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


def _fallback_summary(
    extract: ThreadSummary, why: str, rejected: Sequence[Claim] = (), tokens: Tokens | None = None
) -> ThreadSummary:
    note = f"Summarised from the thread's own sentences: {why}."
    return ThreadSummary(
        extract.title,
        extract.claims,
        extract.generated_by,
        extract.consensus,
        (*extract.rejected, *rejected),
        (note,),
        tokens or Tokens(),
    )


def _positions_left_out(extract: ThreadSummary, claims: tuple[Claim, ...]) -> list[Claim]:
    """Stances and objections that the model left out: it may not decide who is heard."""
    said = {" ".join(citation.quote.split()) for claim in claims for citation in claim.citations}
    kept = (Section.AGREED, Section.DISSENT)
    return [
        claim
        for claim in extract.claims
        if claim.section in kept and not any(" ".join(c.quote.split()) in said for c in claim.citations)
    ]
