"""The summarizers: by rules, or by a chat model whose claims are checked against the mails."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Conflict, Store
from shared.azure.openai_client import (
    ChatRefusedError,
    CompletionOptions,
    Endpoint,
    OpenAIClient,
)
from shared.core.errors import DocumentNotFoundError, PermanentError, TransientError
from shared.model_reading.answer import ANSWER_SCHEMA, ModelAnswer, parse_answer
from shared.model_reading.combined import ModelRun, combine, found_sentences, merge_answers
from shared.model_reading.numbered import (
    CountTokens,
    NumberedThread,
    Part,
    estimate_tokens,
    merge_part,
    number_thread,
)
from shared.models.reports import TokenAccount
from shared.models.threads import Thread
from shared.models.values import ThreadReading
from shared.pipeline.event_types import SummarizationRequested
from shared.reading.linked_thread import LinkedThread
from shared.settings.app import Settings
from shared.summaries.extractive import ExtractiveSummarizer
from shared.summaries.models import Summarizer, ThreadContext, ThreadSummary, Tokens


class TokenBudget(Protocol):
    """A budget of tokens that concurrent calls cannot overspend."""

    async def reserve(self, tokens: int) -> bool:
        """Reserve tokens. Return False if the budget does not have them."""

    async def settle(self, reserved: int, used: int) -> None:
        """Release the reserved tokens and count the used tokens."""


@dataclass
class MemoryTokenBudget:
    """A budget in memory, without a limit by default."""

    limit: int | None = None
    used: int = 0
    reserved: int = 0

    async def reserve(self, tokens: int) -> bool:
        if self.limit is not None and self.used + self.reserved + tokens > self.limit:
            return False
        self.reserved += tokens
        return True

    async def settle(self, reserved: int, used: int) -> None:
        self.reserved -= reserved
        self.used += used


@dataclass(frozen=True)
class StoredBudget:
    """The budget of one archive for all workers. The tokens of a crashed call stay reserved."""

    store: Store
    archive_id: str
    limit: int | None
    now: Callable[[], datetime]

    async def reserve(self, tokens: int) -> bool:
        try:
            return await self._reserve(tokens)
        except DocumentNotFoundError:  # The first call for the archive.
            await self.store.create(TokenAccount(id=self.archive_id, created_at=self.now()), Session())
            return await self._reserve(tokens)

    async def _reserve(self, tokens: int) -> bool:
        patch = Patch(self.archive_id, increment={"reserved": tokens})
        fits = f"c.used + c.reserved + {tokens:d} <= {self.limit:d}" if self.limit is not None else None
        changed = await self.store.patch(TokenAccount, patch, Session(), condition=fits)
        return changed is not Conflict.CONFLICT

    async def settle(self, reserved: int, used: int) -> None:
        spent = {"reserved": -reserved, "used": used, "calls": 1 if used else 0}
        patch = Patch(self.archive_id, increment=spent)
        await self.store.patch(TokenAccount, patch, Session())


log = logging.getLogger(__name__)
DEFAULT_TEMPLATE = "consensus-summary-v1"


def answer_token_limit(window: int) -> int:
    """Return the tokens for the answer: a quarter, because an answer is much shorter than its thread."""
    return max(window // 4, 1)


class UnknownTemplateError(PermanentError):
    """There is no such prompt template."""


class BudgetUsedUpError(Exception):
    """The archive's token budget has fewer tokens than the call may need."""


@dataclass(frozen=True, slots=True)
class ChatSettings(CompletionOptions):
    template: str = DEFAULT_TEMPLATE


@dataclass
class ChatSummarizer:
    """Summarize in one call, or in one for each part and one to merge.

    The fallback is the reading by rules.
    """

    client: OpenAIClient
    settings: ChatSettings
    now: Callable[[], datetime]
    budget: TokenBudget = field(default_factory=MemoryTokenBudget)
    count_tokens: CountTokens = estimate_tokens
    writer: ExtractiveSummarizer = field(default_factory=ExtractiveSummarizer)

    @property
    def name(self) -> str:
        return self.settings.model

    async def summarize(self, context: ThreadContext) -> ThreadSummary:
        if self.settings.template != DEFAULT_TEMPLATE:
            raise UnknownTemplateError(
                f"no prompt template {self.settings.template!r}: there is {DEFAULT_TEMPLATE}"
            )
        # In a thread, because a long discussion takes long to parse.
        thread, numbered = await asyncio.to_thread(self._prepare, context)
        if not numbered.parts:
            return self._without_model(context, "the thread does not fit the model's context window")
        calls = _ThreadCalls(self, context)
        try:
            answer = await calls.answer_to(thread, numbered)
        except ChatRefusedError as error:
            # A content filter or a length limit. A retry would end the same way.
            log.warning("Thread %s is read without the model: %s", context.thread_id, error)
            return self._without_model(context, "the model's endpoint refused this thread", calls.tokens)
        except BudgetUsedUpError:
            return self._without_model(context, "the token budget is used up", calls.tokens)
        if answer.says_nothing:
            return self._without_model(context, "the model gave no usable answer", calls.tokens)
        run = ModelRun(self.name, self.now(), numbered.cut, len(numbered.unread))
        reading = await asyncio.to_thread(combine, thread, context.subject, context.reading, answer, run)
        _log_checks(context.thread_id, reading)
        made = await asyncio.to_thread(self.writer.summary, replace(context, reading=reading))
        return replace(made, generated_by=self.name, notes=_notes(reading), tokens=calls.tokens)

    def _prepare(self, context: ThreadContext) -> tuple[LinkedThread, NumberedThread]:
        thread, room = LinkedThread(context.mails, context.profile), self.room(context)
        return thread, number_thread(thread, context.subject, room=room, count_tokens=self.count_tokens)

    def room(self, context: ThreadContext) -> int:
        return context.context_window_tokens - self.settings.answer_tokens

    def _without_model(self, context: ThreadContext, why: str, tokens: Tokens | None = None) -> ThreadSummary:
        note = f"Read by rules only: {why}."
        return replace(self.writer.summary(context), notes=(note,), tokens=tokens or Tokens())


@dataclass
class _ThreadCalls:
    by: ChatSummarizer
    context: ThreadContext
    tokens: Tokens = field(default_factory=Tokens)

    async def answer_to(self, thread: LinkedThread, numbered: NumberedThread) -> ModelAnswer:
        answers = [await self._ask(part) for part in numbered.parts]
        if len(answers) == 1:
            return answers[0]
        found = await asyncio.to_thread(found_sentences, thread, answers)
        if not found:
            return ModelAnswer()
        whole = merge_part(
            self.context.subject, found, room=self.by.room(self.context), count_tokens=self.by.count_tokens
        )
        return merge_answers(answers, await self._ask(whole))

    async def _ask(self, part: Part) -> ModelAnswer:
        by = self.by
        answer, price = await complete_within(by.budget, by.client, by.settings, part, by.count_tokens)
        self.tokens = Tokens(self.tokens.prompt + price.prompt, self.tokens.completion + price.completion)
        return answer


async def complete_within(
    budget: TokenBudget,
    client: OpenAIClient,
    options: CompletionOptions,
    part: Part,
    count_tokens: CountTokens = estimate_tokens,
) -> tuple[ModelAnswer, Tokens]:
    """Make one call within the budget. Raise BudgetUsedUpError if its possible cost does not fit."""
    reserved = part.tokens + options.answer_tokens
    if not await budget.reserve(reserved):
        raise BudgetUsedUpError
    used = 0
    try:
        answer = await client.complete(part.system, part.user, options)
        price = Tokens(answer.prompt_tokens, answer.completion_tokens)
        if not price.total:  # The endpoint does not report it, so count here.
            price = Tokens(part.tokens, count_tokens(answer.text))
        used = price.total
    except TransientError as error:
        # A call that timed out is charged, because the endpoint was still working on it.
        used = part.tokens if error.timed_out else 0
        raise
    finally:
        await budget.settle(reserved, used)
    return await asyncio.to_thread(parse_answer, answer.text), price


def _log_checks(thread_id: str, reading: ThreadReading) -> None:
    """Log each refused, marked and overruled claim with the cause, without words of the mails."""
    model = reading.model
    if model is None:
        return
    for action, causes in (("refused", model.refused), ("marked", model.marked)):
        for cause in causes:
            topic, _, reason = cause.partition(": ")
            kind = topic.split(" of ")[0]  # Without the person's name in "position of ...".
            log.info("Thread %s, read by %s: %s: %s: %s", thread_id, model.model, action, kind, reason)
    for difference in model.differences:
        topic = difference.what if difference.what in {"genre", "outcome"} else "a position"
        log.info("Thread %s, read by %s: overruled: %s", thread_id, model.model, topic)
    for name, mails in (("cut for length", len(model.cut)), ("not read", model.unread)):
        if mails:
            log.info("Thread %s, read by %s: %d mails were %s", thread_id, model.model, mails, name)


def _notes(reading: ThreadReading) -> tuple[str, ...]:
    """Return notes on the model's part in the summary."""
    if (model := reading.model) is None:
        return ()
    notes = [f"Read by {model.model} on {model.read_at.date()}; every claim was checked against the mails."]
    if model.refused:
        notes.append(
            f"{len(model.refused)} of its claims were rejected because the mails do not support them."
        )
    if model.marked:
        notes.append(f"{len(model.marked)} of its claims are shown as its reading only.")
    if model.orders:
        notes.append(f"{len(model.orders)} mails speak to a model: nothing here rests on its word alone.")
    if model.cut:
        notes.append(f"{len(model.cut)} mails were cut for length: the model did not read their middle.")
    if model.unread:
        notes.append(f"{model.unread} mails did not fit and were not read by the model.")
    notes += [
        f"Read differently: {difference.what} is {difference.by_rules} by the rules, "
        f"{difference.by_model} by the model. "
        "The rules' reading is shown."
        for difference in model.differences
    ]
    return tuple(notes)


@dataclass(frozen=True)
class OfflineSummarizer:
    extractive: ExtractiveSummarizer = field(default_factory=ExtractiveSummarizer)

    @property
    def name(self) -> str:
        return self.extractive.name

    async def summarize(self, context: ThreadContext) -> ThreadSummary:
        # In a thread, because a long discussion would block the event loop.
        return await asyncio.to_thread(self.extractive.summary, context)


EXTRACTIVE = "extractive"
_AZURE = "azureopenai"


class UnknownBackendError(PermanentError):
    """The event requests a summarizer that this app does not have."""


def check_backend(data: SummarizationRequested, settings: Settings) -> None:
    known = dict.fromkeys([EXTRACTIVE, settings.SUMMARY_BACKEND])
    if data.llm_backend not in known:
        raise UnknownBackendError(f"llm_backend {data.llm_backend!r} is not one of: {', '.join(known)}")


async def summarizer_for(clients: Clients, data: SummarizationRequested, thread: Thread) -> Summarizer:
    if data.llm_backend == EXTRACTIVE:
        return OfflineSummarizer()
    settings = clients.settings
    return ChatSummarizer(
        await chat_client(clients),
        ChatSettings(
            data.llm_model,
            template=data.prompt_template,
            answer_tokens=answer_token_limit(data.context_window_tokens),
            timeout_seconds=settings.SUMMARY_TIMEOUT_SECONDS,
            answer_schema=ANSWER_SCHEMA,
        ),
        clients.runtime.now,
        StoredBudget(clients.store, thread.archive_id, settings.SUMMARY_ARCHIVE_TOKENS, clients.runtime.now),
    )


async def chat_client(clients: Clients) -> OpenAIClient:
    """Return the client of the client set, which keeps its connections and access tokens."""

    async def start() -> OpenAIClient:
        settings, key = clients.settings, clients.settings.SUMMARY_API_KEY
        endpoint = Endpoint(
            settings.SUMMARY_ENDPOINT or "",
            is_azure=settings.SUMMARY_BACKEND == _AZURE,
            api_key=key.get_secret_value() if key else None,
            identity_client_id=settings.AZURE_CLIENT_ID,
        )
        return OpenAIClient(endpoint, clients.runtime)

    return await clients.resources.get("chat", start)
