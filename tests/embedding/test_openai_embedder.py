"""Azure OpenAI and compatible endpoints, through the real SDK against a local server."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from azure.core.credentials import AccessToken

from shared.azure.classify import classify
from shared.core.errors import ErrorKind, RefusesEverythingError, TransientError, UnencodableTextError
from shared.embedding.encoder import Vectors
from shared.embedding.factory import open_embedder
from shared.embedding.openai_embedder import REQUESTS_AT_ONCE, OpenAIEmbedder
from shared.pipeline.retry import Backoff, with_backoff
from shared.settings.app import Settings, load_settings
from tests.settings.test_app import LOCAL
from tests.support.openai_server import OpenAIServer, refusal
from tests.support.web_server import Response


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    running = OpenAIServer()
    await running.start()
    yield running
    await running.stop()


def settings(server: OpenAIServer, **more: str) -> Settings:
    return load_settings(
        {
            **LOCAL,
            "EMBEDDING_BACKEND": "azureopenai",
            "EMBEDDING_ENDPOINT": server.address,
            "EMBEDDING_MODEL": "text-embedding-3-small",
            "EMBEDDING_API_KEY": "secret-key",
            "EMBEDDING_DIMENSION": "8",
            **more,
        }
    )


@pytest.fixture
async def embedder(server: OpenAIServer) -> AsyncIterator[OpenAIEmbedder]:
    opened = OpenAIEmbedder.from_settings(settings(server))
    yield opened
    await opened.close()


def first_components(texts: list[str]) -> Vectors:
    lengths = np.array([max(len(text), 1) for text in texts], np.float32)
    expected: Vectors = (lengths / np.sqrt(lengths**2 + 7)).astype(np.float32)
    return expected


@pytest.mark.parametrize("as_base64", [True, False])
async def test_vectors_are_normalised_and_in_the_order_of_the_texts(
    server: OpenAIServer, embedder: OpenAIEmbedder, as_base64: bool
) -> None:
    server.base64 = as_base64
    texts = ["a" * length for length in (5, 1, 40, 2, 3)]
    vectors = await embedder.encode(texts)
    assert vectors.shape == (5, 8)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[:, 0], first_components(texts), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert (embedder.model, embedder.backend) == ("text-embedding-3-small", "azureopenai")
    assert (await embedder.encode([])).shape == (0, 8)


async def test_calls_that_overlap_share_a_bounded_number_of_requests(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    server.held = asyncio.Event()
    calls = [asyncio.create_task(embedder.encode([f"text {number}"])) for number in range(12)]
    async with asyncio.timeout(20):
        while server.at_once < REQUESTS_AT_ONCE:  # noqa: ASYNC110 - a count, polled for
            await asyncio.sleep(0.01)
        server.held.set()
        await asyncio.gather(*calls)
    assert (server.most_at_once, len(server.requests)) == (REQUESTS_AT_ONCE, 12)


async def test_azure_is_asked_at_its_deployment_with_its_key_and_version(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    await embedder.encode(["one"])
    (request,) = server.requests
    assert request.path == "/openai/deployments/text-embedding-3-small/embeddings"
    assert request.query == "api-version=2024-10-21"
    assert request.headers["api-key"] == "secret-key"
    assert b'"dimensions":8' in request.body


async def test_a_compatible_endpoint_is_asked_at_its_own_address(server: OpenAIServer) -> None:
    other = settings(server, EMBEDDING_BACKEND="openai", EMBEDDING_ENDPOINT=f"{server.address}/v1")
    embedder = await open_embedder(other)
    await embedder.encode(["one"])
    await embedder.close()
    assert embedder.backend == "openai"
    assert server.requests[0].path == "/v1/embeddings"
    assert server.requests[0].headers["authorization"] == "Bearer secret-key"


class Identity:
    """A managed identity without the metadata service, which only Azure has."""

    def __init__(self, **options: Any) -> None:
        self.closed = False

    async def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        assert scopes == ("https://cognitiveservices.azure.com/.default",)
        return AccessToken("a-token", int(time.time()) + 3600)

    async def close(self) -> None:
        self.closed = True


async def test_without_a_key_the_managed_identity_is_used(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.azure.openai_client.identity_aio.DefaultAzureCredential", Identity)
    embedder = OpenAIEmbedder.from_settings(settings(server, EMBEDDING_API_KEY=""))
    await embedder.encode(["one"])
    await embedder.close()
    assert server.requests[0].headers["authorization"] == "Bearer a-token"
    client: Any = embedder._client
    assert client._identity.closed


@pytest.mark.parametrize(
    ("answer", "retry_after"),
    [
        (refusal(429, "slow down", retry_after="7"), 7.0),
        (refusal(429, "slow down", retry_after_ms="1500", retry_after="2"), 1.5),
        (refusal(429, "slow down"), None),
        (refusal(429, "slow down", retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), 0.0),
        (refusal(503, "overloaded", retry_after="3"), 3.0),
        (refusal(500, "oops"), None),
        (refusal(401, "the role is not assigned yet"), None),
        (refusal(408, "too slow"), None),
        (Response(200, drop=True), None),
        (Response(200, b"<html>a proxy</html>", [("Content-Type", "application/json")]), None),
    ],
)
async def test_what_may_pass_is_transient_and_says_how_long_to_wait(
    server: OpenAIServer, embedder: OpenAIEmbedder, answer: Response, retry_after: float | None
) -> None:
    server.answers.append(answer)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - classify is tested with the error
        await embedder.encode(["one"])
    failure = classify(raised.value)
    assert (failure.kind, failure.retry_after) == (ErrorKind.TRANSIENT, retry_after)
    assert len(server.requests) == 1  # the SDK did not retry by itself


async def test_the_wait_that_was_asked_for_is_kept_by_the_backoff(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    server.answers.extend([refusal(429, "slow down", retry_after="17"), refusal(429, "slow down")])
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    vectors = await with_backoff(lambda: embedder.encode(["one"]), Backoff(), what="encoding", sleep=wait)
    assert vectors.shape == (1, 8)
    assert waited == [17, 10]


@pytest.mark.parametrize("status", [404, 405])
async def test_a_deployment_that_does_not_exist_may_yet_and_no_text_is_blamed(
    server: OpenAIServer, embedder: OpenAIEmbedder, status: int
) -> None:
    server.answers.append(refusal(status, "no such deployment"))
    with pytest.raises(Exception, match="no such deployment") as raised:
        await embedder.encode_each(["one", "two"])
    assert classify(raised.value).kind is ErrorKind.TRANSIENT
    assert not isinstance(raised.value, UnencodableTextError)


async def test_a_service_that_refuses_every_text_is_ill_and_no_text_is_blamed(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    server.answers.extend(refusal(400, "no input is taken") for _ in range(10))
    with pytest.raises(RefusesEverythingError, match="refuses every text") as raised:
        await embedder.encode_each(["one", "two"])
    assert classify(raised.value).kind is ErrorKind.TRANSIENT
    assert ["ok"] in server.inputs


async def test_a_text_that_is_refused_stands_alone_at_the_end_and_the_others_have_vectors(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    texts = ["a", "bb", "poison", "dddd", "eeeee"]
    settled = await embedder.encode_each(texts)
    assert list(settled.failed) == [2]
    assert "filtered" in str(settled.failed[2])
    kept = [0, 1, 3, 4]
    np.testing.assert_allclose(settled.vectors[kept, 0], first_components(texts)[kept], rtol=1e-5)
    assert len(server.requests) <= 8


async def test_a_request_stays_within_the_limits_of_the_service(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    await embedder.encode(["x"] * 1100 + ["word " * 20_000] * 60)
    assert max(len(inputs) for inputs in server.inputs) <= 2048
    assert all(sum(len(text) for text in inputs) / 3 <= 300_000 for inputs in server.inputs)
    assert max(len(text) for inputs in server.inputs for text in inputs) <= 8191 * 3


async def test_a_text_over_the_window_is_cut_and_reported(embedder: OpenAIEmbedder) -> None:
    settled = await embedder.encode_each(["x" * 8191 * 3, "x" * (8191 * 3 + 1)])
    assert settled.truncated == (1,)


async def test_empty_and_unreadable_texts_are_sent_as_something_that_the_service_takes(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    assert (await embedder.encode(["", "\ud800"])).shape == (2, 8)
    assert sorted(server.inputs[0]) == [" ", "?"]


async def test_vectors_of_another_length_than_the_setting_says_are_an_error(
    server: OpenAIServer,
) -> None:
    server.dimension = 16
    old = OpenAIEmbedder.from_settings(settings(server, EMBEDDING_MODEL="text-embedding-ada-002"))
    with pytest.raises(Exception, match="EMBEDDING_DIMENSION says 8") as raised:
        await old.encode(["one"])
    await old.close()
    assert classify(raised.value).kind is ErrorKind.TRANSIENT
    assert b"dimensions" not in server.requests[0].body  # this model does not accept the parameter


async def test_an_answer_without_a_vector_for_every_text_is_not_taken(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    body = b'{"object": "list", "model": "m", "data": [], "usage": {"prompt_tokens": 1, "total_tokens": 1}}'
    server.answers.append(Response(200, body, [("Content-Type", "application/json")]))
    with pytest.raises(TransientError):
        await embedder.encode(["one"])
