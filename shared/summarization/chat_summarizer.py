"""A summarizer that asks a chat model, and believes only what it can verify."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.clients.openai.ports import ChatPort, ChatRefusedError, Completion, CompletionOptions
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

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChatSettings(CompletionOptions):
    template: str = DEFAULT_TEMPLATE


@dataclass
class ChatSummarizer:
    """One call a summary. Where the model gives nothing usable, the extractive summary stands in."""

    client: ChatPort
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
            answer = await self.client.complete(prompt.system, prompt.user, self.settings)
            tokens = self._price(prompt, answer)
            used = tokens.total
        except ChatRefusedError as error:
            # A content filter or a length limit: another try ends the same way, and the thread stays.
            log.warning("Thread %s is summarised without the model: %s", context.thread_id, error)
            return _fallback_summary(extract, "the model's endpoint refused this thread")
        except TransientError as error:
            # The endpoint charges for what it was still at work on when we hung up.
            used = prompt.tokens if error.timed_out else 0
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

    def _price(self, prompt: Prompt, answer: Completion) -> Tokens:
        """As the endpoint tells it; where it does not, by our own count."""
        reported = Tokens(answer.prompt_tokens, answer.completion_tokens)
        return reported if reported.total else Tokens(prompt.tokens, self.count_tokens(answer.text))

    def _summary(
        self,
        context: ThreadContext,
        extract: ThreadSummary,
        prompt: Prompt,
        answer: Completion,
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
    cited = {" ".join(citation.quote.split()) for claim in claims for citation in claim.citations}
    positions = (Section.AGREED, Section.DISSENT)
    return [
        claim
        for claim in extract.claims
        if claim.section in positions and not any(" ".join(c.quote.split()) in cited for c in claim.citations)
    ]
