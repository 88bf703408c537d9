"""The summarizer that an event asks for, as far as this app's settings have it."""

from shared.clients.connections import Clients
from shared.clients.openai.client import Endpoint, OpenAIClient, open_client
from shared.clients.openai.ports import ChatPort
from shared.core.errors import PermanentError
from shared.documents.threads import Thread
from shared.domain.chat_reading.answer import ANSWER_SCHEMA
from shared.domain.summaries.models import Summarizer
from shared.pipeline.event_types import SummarizationRequested
from shared.settings.app import Settings
from shared.summarization.chat_summarizer import ChatSettings, ChatSummarizer, answer_room
from shared.summarization.offline_summarizer import OfflineSummarizer
from shared.summarization.token_budget import StoredBudget

EXTRACTIVE = "extractive"
_AZURE = "azureopenai"


class UnknownBackendError(PermanentError):
    """The event asks for a summarizer that this app does not have."""


def check_backend(data: SummarizationRequested, settings: Settings) -> None:
    known = dict.fromkeys([EXTRACTIVE, settings.SUMMARY_BACKEND])
    if data.llm_backend not in known:
        raise UnknownBackendError(f"llm_backend {data.llm_backend!r} is not one of: {', '.join(known)}")


async def summarizer_for(clients: Clients, data: SummarizationRequested, thread: Thread) -> Summarizer:
    if data.llm_backend == EXTRACTIVE:
        return OfflineSummarizer()
    settings = clients.settings
    return ChatSummarizer(
        await _chat_client(clients),
        ChatSettings(
            data.llm_model,
            template=data.prompt_template,
            answer_tokens=answer_room(data.context_window_tokens),
            timeout_seconds=settings.SUMMARY_TIMEOUT_SECONDS,
            answer_schema=ANSWER_SCHEMA,
        ),
        clients.runtime.now,
        StoredBudget(clients.store, thread.archive_id, settings.SUMMARY_ARCHIVE_TOKENS, clients.runtime.now),
    )


async def _chat_client(clients: Clients) -> ChatPort:
    """One for the client set: it keeps its connections and its tokens."""

    async def start() -> OpenAIClient:
        settings = clients.settings
        key = settings.SUMMARY_API_KEY
        endpoint = Endpoint(
            settings.SUMMARY_ENDPOINT or "",
            is_azure=settings.SUMMARY_BACKEND == _AZURE,
            api_key=key.get_secret_value() if key else None,
            identity_client_id=settings.AZURE_CLIENT_ID,
        )
        return open_client(endpoint, clients.runtime)

    return await clients.resources.get("chat", start)
