"""The summarizer that an event asks for, as far as this app's settings have it."""

import asyncio
from collections.abc import Hashable
from typing import TYPE_CHECKING

from shared.clients.connections import Clients
from shared.core.errors import PermanentError
from shared.documents.threads import Thread
from shared.domain.summaries.extractive import ExtractiveSummarizer
from shared.domain.summaries.models import Summarizer
from shared.pipeline.events.data import SummarizationRequested
from shared.settings.app import Settings
from shared.summarization.token_budget import StoredBudget

if TYPE_CHECKING:
    import openai
    from azure.identity.aio import DefaultAzureCredential

__all__ = ["EXTRACTIVE", "UnknownBackendError", "check_backend", "close_chat_clients", "summarizer_for"]

EXTRACTIVE = "extractive"
_AZURE = "azureopenai"


class UnknownBackendError(PermanentError):
    """The event asks for a summarizer that this app does not have."""


def check_backend(data: SummarizationRequested, settings: Settings) -> None:
    known = dict.fromkeys([EXTRACTIVE, settings.SUMMARY_BACKEND])
    if data.llm_backend not in known:
        raise UnknownBackendError(f"llm_backend {data.llm_backend!r} is not one of: {', '.join(known)}")


def summarizer_for(clients: Clients, data: SummarizationRequested, thread: Thread) -> Summarizer:
    if data.llm_backend == EXTRACTIVE:
        return ExtractiveSummarizer()
    settings = clients.settings
    from shared.summarization.chat_summarizer import ChatSettings, ChatSummarizer  # noqa: PLC0415 - a second to import

    return ChatSummarizer(
        _chat_client(settings),
        ChatSettings(
            data.llm_model,
            template=data.prompt_template,
            answer_tokens=settings.SUMMARY_ANSWER_TOKENS,
            timeout_seconds=settings.SUMMARY_TIMEOUT_SECONDS,
            answer_limit=settings.SUMMARY_ANSWER_LIMIT,
            json_mode=settings.SUMMARY_JSON_MODE,
        ),
        StoredBudget(clients.store, thread.archive_id, settings.SUMMARY_ARCHIVE_TOKENS, clients.runtime.now),
    )


_clients: "dict[Hashable, tuple[openai.AsyncOpenAI, DefaultAzureCredential | None]]" = {}


def _chat_client(settings: Settings) -> "openai.AsyncOpenAI":
    """One for the process, as it keeps its connections and its tokens."""
    name = (asyncio.get_running_loop(), settings.SUMMARY_BACKEND, settings.SUMMARY_ENDPOINT)
    if name not in _clients:
        _clients[name] = _open(settings)
    return _clients[name][0]


def _open(settings: Settings) -> "tuple[openai.AsyncOpenAI, DefaultAzureCredential | None]":
    from shared.clients.openai.client import AZURE_SCOPE, ChatEndpoint, open_chat_client  # noqa: PLC0415

    key, is_azure = settings.SUMMARY_API_KEY, settings.SUMMARY_BACKEND == _AZURE
    endpoint = ChatEndpoint(
        settings.SUMMARY_ENDPOINT or "",
        is_azure=is_azure,
        api_key=key.get_secret_value() if key else None,
        api_version=settings.SUMMARY_API_VERSION,
    )
    if not is_azure or key is not None:
        return open_chat_client(endpoint), None
    from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider  # noqa: PLC0415 - slow

    identity = DefaultAzureCredential(managed_identity_client_id=settings.AZURE_CLIENT_ID)
    return open_chat_client(endpoint, get_bearer_token_provider(identity, AZURE_SCOPE)), identity


async def close_chat_clients() -> None:
    loop = asyncio.get_running_loop()
    for name in [each for each in _clients if isinstance(each, tuple) and each[0] is loop]:
        client, identity = _clients.pop(name)
        await client.close()
        if identity is not None:
            await identity.close()
