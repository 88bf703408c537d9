"""Clients for chat endpoints: Azure OpenAI by managed identity or key, or any compatible endpoint."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import openai

__all__ = ["ChatEndpoint", "InvalidEndpointError", "open_chat_client"]

TokenProvider = Callable[[], Awaitable[str]]
AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
"""What a managed identity asks a token for: `get_bearer_token_provider(credential, AZURE_SCOPE)`."""


class InvalidEndpointError(ValueError):
    """The chat endpoint's settings do not fit together."""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    url: str
    is_azure: bool = False
    api_key: str | None = None
    api_version: str = "2024-10-21"


def open_chat_client(
    endpoint: ChatEndpoint, token_provider: TokenProvider | None = None
) -> openai.AsyncOpenAI:
    """The SDK's client. It does not retry by itself: the stage owns retries, and hears of Retry-After."""
    if not endpoint.url.startswith(("https://", "http://")):
        raise InvalidEndpointError(
            f"the chat endpoint {endpoint.url!r} has to start with https:// or http://"
        )
    if not endpoint.is_azure:
        # Ollama and llama.cpp want no key, the SDK wants one.
        return openai.AsyncOpenAI(base_url=endpoint.url, api_key=endpoint.api_key or "none", max_retries=0)
    if endpoint.api_key:
        return openai.AsyncAzureOpenAI(
            azure_endpoint=endpoint.url,
            api_version=endpoint.api_version,
            api_key=endpoint.api_key,
            max_retries=0,
        )
    if token_provider is None:
        raise InvalidEndpointError("Azure OpenAI needs a key or a token provider (managed identity)")
    return openai.AsyncAzureOpenAI(
        azure_endpoint=endpoint.url,
        api_version=endpoint.api_version,
        azure_ad_token_provider=token_provider,
        max_retries=0,
    )
