"""The providers of chat models, each simulated by its own documentation on a real local server."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.azure.openai_client import (
    AZURE_SCOPE,
    MOST_CALLS,
    CompletionOptions,
    Endpoint,
    OpenAIClient,
)
from shared.core.errors import TransientError
from shared.core.runtime import Runtime
from shared.model_reading.answer import ANSWER_SCHEMA
from shared.settings.app import chat_settings
from tests.support.web_server import HttpServer, Request, Response, json_response

ASKED = CompletionOptions("a-model", answer_tokens=500, answer_schema=ANSWER_SCHEMA)


@dataclass
class Provider:
    """A server with the documented paths and refusals of a provider."""

    path: str
    allows: Callable[[Request], str | None] = lambda _: None
    refuses: Callable[[dict[str, Any]], str | None] = lambda _: None
    url: str = ""
    asked: list[Request] = field(default_factory=list)

    def handle(self, request: Request) -> Response:
        self.asked.append(request)
        if request.path != self.path:
            return json_response(404, {"error": {"message": "no such path"}})
        if missing := self.allows(request):
            return json_response(401, {"error": {"message": missing}})
        if refusal := self.refuses(json.loads(request.body)):
            return json_response(400, {"error": {"message": refusal, "type": "invalid_request_error"}})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{}"}}
        usage = {"prompt_tokens": 26, "completion_tokens": 2, "total_tokens": 28}
        return json_response(
            200, {"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}
        )

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(request.body) for request in self.asked]


@asynccontextmanager
async def serving(
    handle: Callable[[Request], Any],
) -> AsyncIterator[str]:
    server = HttpServer(handle)
    port = await server.start("127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop()


@asynccontextmanager
async def client_of(endpoint: Endpoint, runtime: Runtime | None = None) -> AsyncIterator[OpenAIClient]:
    client = OpenAIClient(endpoint, runtime)
    try:
        yield client
    finally:
        await client.close()


def needs(header: str, value: str) -> Callable[[Request], str | None]:
    return lambda request: None if request.headers.get(header) == value else f"{header} is missing"


async def test_azure_openai_is_asked_with_the_token_of_the_managed_identity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The identity endpoint follows the documentation of App Service and Functions."""
    azure = Provider(
        "/openai/deployments/a-model/chat/completions",
        allows=needs("authorization", "Bearer of-the-identity"),
    )
    tokens: list[Request] = []

    def identity(request: Request) -> Response:
        tokens.append(request)
        if request.headers.get("x-identity-header") != "a-secret":
            return json_response(401, {})
        expires = int((datetime.now(UTC) + timedelta(hours=8)).timestamp())
        return json_response(
            200,
            {
                "access_token": "of-the-identity",
                "expires_on": str(expires),
                "resource": AZURE_SCOPE.removesuffix("/.default"),
                "token_type": "Bearer",
            },
        )

    for name in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
        monkeypatch.delenv(name, raising=False)
    async with serving(identity) as identity_url, serving(azure.handle) as url:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{identity_url}/msi/token")
        monkeypatch.setenv("IDENTITY_HEADER", "a-secret")
        endpoint = Endpoint(url, is_azure=True, identity_client_id="11111111-2222-3333-4444-555555555555")
        async with client_of(endpoint) as client:
            for _ in range(2):
                assert (await client.complete("s", "u", ASKED)).prompt_tokens == 26
    assert [one.path for one in tokens] == ["/msi/token"], "the token is kept"
    assert "resource=https" in tokens[0].query
    assert "client_id=11111111" in tokens[0].query
    assert all("api-version=2024-10-21" in one.query for one in azure.asked)
    assert azure.bodies[0]["response_format"]["json_schema"]["strict"] is True


async def test_azure_openai_is_asked_with_a_key() -> None:
    azure = Provider("/openai/deployments/a-model/chat/completions", allows=needs("api-key", "k"))
    async with serving(azure.handle) as url, client_of(Endpoint(url, is_azure=True, api_key="k")) as client:
        assert (await client.complete("s", "u", ASKED)).text == "{}"


def wants_its_own_options(asked: dict[str, Any]) -> str | None:
    """Answer like OpenAI's reasoning models."""
    if "max_tokens" in asked:
        return "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    if "temperature" in asked:
        return "Unsupported value: 'temperature' does not support 0 with this model."
    return None


def knows_json_only(asked: dict[str, Any]) -> str | None:
    is_schema = asked.get("response_format", {}).get("type") == "json_schema"
    return "response_format: json_schema is not supported by this model" if is_schema else None


@pytest.mark.parametrize(
    ("refuses", "options"),
    [
        (lambda _: None, {"temperature", "max_tokens", "json_schema"}),  # OpenAI, Ollama from 0.5, llama.cpp
        (wants_its_own_options, {"max_completion_tokens", "json_schema"}),
        (
            knows_json_only,
            {"temperature", "max_tokens", "json_object"},
        ),  # compatible services without schemas
    ],
    ids=["schema", "reasoning model", "JSON only"],
)
async def test_a_compatible_endpoint_is_asked_as_it_wants(
    refuses: Callable[[dict[str, Any]], str | None], options: set[str]
) -> None:
    provider = Provider("/v1/chat/completions", allows=needs("authorization", "Bearer k"), refuses=refuses)
    async with serving(provider.handle) as url, client_of(Endpoint(f"{url}/v1", api_key="k")) as client:
        for _ in range(2):
            assert (await client.complete("s", "u", ASKED)).text == "{}"
    last = provider.bodies[-1]
    known = {"temperature", "max_tokens", "max_completion_tokens"} & last.keys()
    assert known | {last["response_format"]["type"]} == options
    refused = sum(refuses(body) is not None for body in provider.bodies)
    assert len(provider.bodies) == refused + 2, "what was learned once is not tried again"


async def test_ollama_needs_no_key_and_two_settings() -> None:
    ollama = Provider("/v1/chat/completions")
    async with serving(ollama.handle) as url:
        given = chat_settings({"SUMMARY_ENDPOINT": f"{url}/v1", "SUMMARY_MODEL": "llama3.1:8b"})
        assert given.SUMMARY_BACKEND == "openai"
        async with client_of(Endpoint(given.SUMMARY_ENDPOINT or "")) as client:
            await client.complete("s", "u", replace(ASKED, model=given.SUMMARY_MODEL))
    assert ollama.bodies[0]["model"] == "llama3.1:8b"
    assert [one["role"] for one in ollama.bodies[0]["messages"]] == ["system", "user"]


async def test_only_a_few_calls_are_open_at_a_time() -> None:
    is_open, most, may_answer = 0, 0, asyncio.Event()
    answers = Provider("/v1/chat/completions")

    async def slow(request: Request) -> Response:
        nonlocal is_open, most
        is_open += 1
        most = max(most, is_open)
        if is_open == MOST_CALLS:
            may_answer.set()
        await may_answer.wait()
        is_open -= 1
        return answers.handle(request)

    async with serving(slow) as url, client_of(Endpoint(f"{url}/v1")) as client:
        made = await asyncio.gather(*(client.complete("s", str(number), ASKED) for number in range(11)))
    assert len(made) == len(answers.asked) == 11
    assert most == MOST_CALLS


async def test_no_call_is_made_while_the_endpoint_asked_for_none() -> None:
    """The first of many concurrent threads that is throttled stops all others."""
    time, calls = [datetime(2024, 5, 6, tzinfo=UTC)], list[Request]()
    answers = Provider("/v1/chat/completions")

    def throttled_once(request: Request) -> Response:
        calls.append(request)
        if len(calls) == 1:
            return json_response(429, {"error": {"message": "slow down"}}, [("Retry-After", "30")])
        return answers.handle(request)

    runtime = replace(Runtime(), now=lambda: time[0])
    async with serving(throttled_once) as url, client_of(Endpoint(f"{url}/v1"), runtime) as client:
        with pytest.raises(TransientError, match="429"):
            await client.complete("s", "u", ASKED)
        time[0] += timedelta(seconds=10)
        with pytest.raises(TransientError, match="asked for no calls") as caught:
            await client.complete("s", "u", ASKED)
        assert caught.value.retry_after == 20
        assert len(calls) == 1
        time[0] += timedelta(seconds=20)
        assert (await client.complete("s", "u", ASKED)).text == "{}"
