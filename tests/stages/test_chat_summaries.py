"""Summaries by a chat model through the stage, on the local cloud, with a scripted endpoint."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from localcloud.testing import Faults
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import PermanentError
from shared.core.ids import thread_id, thread_summary_id
from shared.core.runtime import Runtime
from shared.models.records import Lock
from shared.models.reports import Summary, TokenAccount
from shared.pipeline.delivery import Delivery
from shared.pipeline.event_types import SummarizationRequested
from shared.pipeline.events import Event
from shared.pipeline.runner import StageRunner
from shared.summaries.citations import verify_stored
from shared.summarization.summarizers import StoredBudget
from stages.registration import delivery_from_sdk
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import MailIn, archive_of, mail, mail_in
from tests.support.chat_endpoint import Answer, ChatEndpointServer, completion, serving
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.documents import CREATED
from tests.support.events import event_of
from tests.support.services import RunningService
from tests.support.web_server import HttpServer, Request, Response, json_response

ROOT = thread_id("<m0@example.org>", "list")
THREAD = b"".join(
    [
        mail(0, subject="Require TLS 1.3", body="I propose that we require TLS 1.3 for all new deployments."),
        mail(1, parent=0, body="I support this proposal, as it is simple."),
        mail(2, parent=0, body="I object. Many embedded devices cannot run it."),
    ]
)
DEVICES = "Many embedded devices cannot run it."
HONEST: dict[str, Any] = {
    "genre": "proposal",
    "objections": [{"mail": 3, "quote": DEVICES, "fate": "outstanding"}],
    "summary": [{"text": "Embedded devices are left out.", "evidence": [{"mail": 3, "quote": DEVICES}]}],
}


@pytest.fixture(autouse=True)
def no_faults_left(cloud: AppCloud) -> Iterator[None]:
    yield
    Faults(cloud.cosmos).plan()


@asynccontextmanager
async def asking(
    cloud: AppCloud, bus: RunningService, answer: Answer, **settings: str
) -> AsyncIterator[tuple[MailIn, ChatEndpointServer]]:
    """Open a place whose summaries come from an endpoint with these answers."""
    async with serving(answer) as endpoint:
        chat = {
            "SUMMARY_BACKEND": "openai",
            "SUMMARY_MODEL": "toy",
            "SUMMARY_ENDPOINT": endpoint.url,
            "SUMMARY_CONTEXT_TOKENS": "6000",
            **settings,
        }
        async with mail_in(cloud, bus, **chat) as place:
            yield place, endpoint


def request(version: str = "v1", thread: str = ROOT, **changes: Any) -> Event[SummarizationRequested]:
    values: dict[str, Any] = {
        "thread_ids": [thread],
        "top_k": 12,
        "llm_backend": "openai",
        "llm_model": "toy",
        "context_window_tokens": 6000,
        "prompt_template": "consensus-summary-v1",
        "content_hashes": [version],
    }
    return event_of(SummarizationRequested(**{**values, **changes}))


async def stored_summary(place: MailIn, scope: str = ROOT) -> Summary:
    (found,) = [summary for summary in await place.stored("summaries") if summary["scope"] == scope]
    return await place.clients.store.read(Summary, found["id"], Session(), partition=scope)


@pytest.mark.requirement("R-502")
async def test_the_model_is_asked_once_a_version_however_often_the_event_comes(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with asking(cloud, bus_service, lambda _: completion(HONEST)) as (place, endpoint):
        await place.take_in(THREAD)
        announced = [await place.run(SUMMARIZATION, request()) for _ in range(3)]
        assert len(endpoint.requests) == 1
        assert {(e.data.tokens_prompt, e.data.tokens_completion) for (e,) in announced} == {(67, 10)}
        summary = await stored_summary(place)
        assert (summary.generated_by, summary.prompt_template) == ("toy", "consensus-summary-v1")
        assert "Embedded devices are left out" in summary.content_markdown
        await place.run(SUMMARIZATION, request("v2"))
        assert len(endpoint.requests) == 2


@pytest.mark.requirement("R-605")
async def test_two_workers_with_one_event_ask_the_model_once(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with asking(cloud, bus_service, lambda _: completion(HONEST)) as (place, endpoint):
        await place.take_in(THREAD)
        both = await asyncio.gather(*(place.run(SUMMARIZATION, request()) for _ in range(3)))
        assert len(endpoint.requests) == 1
        assert len({event.message_id for (event,) in both}) == 1
        assert await place.stored("locks") == []


async def test_a_crash_between_the_call_and_the_store_calls_again_and_stores_one(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with asking(cloud, bus_service, lambda _: completion(HONEST)) as (place, endpoint):
        await place.take_in(THREAD)
        original = place.clients.store.create

        async def crash(document: Any, session: Session) -> bool:
            if isinstance(document, Summary):
                raise asyncio.CancelledError
            return await original(document, session)

        place.clients.store.create = crash  # type: ignore[method-assign]  # the process ends here
        with pytest.raises(asyncio.CancelledError):
            await place.run(SUMMARIZATION, request())
        place.clients.store.create = original  # type: ignore[method-assign]
        await place.run(SUMMARIZATION, request())
        assert len(endpoint.requests) == 2
        assert len(await place.stored("summaries")) == 1


async def test_a_turn_whose_holder_is_gone_is_taken_over_when_its_time_is_over(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with asking(cloud, bus_service, lambda _: completion(HONEST)) as (place, endpoint):
        await place.take_in(THREAD)
        asked = request()
        how = asked.data
        id_ = thread_summary_id(ROOT, "v1", how.prompt_template, how.llm_backend, how.llm_model)
        name = f"summary-{id_}"
        place.clients = with_clock(place.clients, lambda: place.now)
        gone = Lock(
            created_at=CREATED, id=name, owner="a worker that is gone", expires=place.now.timestamp() + 180
        )
        await place.clients.store.create(gone, Session())
        place.now += timedelta(seconds=181)
        await place.run(SUMMARIZATION, asked)
        assert (len(endpoint.requests), len(await place.stored("summaries"))) == (1, 1)
        assert name not in {lock["id"] for lock in await place.stored("locks")}


def _lie(text: str, *quotes: tuple[int, str]) -> dict[str, Any]:
    return {"text": text, "evidence": [{"mail": mail, "quote": quote} for mail, quote in quotes]}


LIES = [
    _lie("All agree happily.", (1, "Q1")),
    _lie("The chair declared consensus.", (1, "The chair declares that we have rough consensus.")),
    _lie("One word was changed.", (3, "I support. Many embedded devices cannot run it.")),
    _lie("A quote of somebody else's mail.", (2, DEVICES)),
    _lie("A true quote beside a false one.", (3, DEVICES), (3, "Nobody needs embedded devices anyway.")),
    _lie("No quote at all."),
]
INVENTED = (*(lie["text"] for lie in LIES), "The chair declares", "I support. Many", "Nobody needs embedded")


@pytest.mark.parametrize("honest_beside", [False, True])
@pytest.mark.requirement("R-504")
async def test_a_model_that_lies_gets_no_invented_quote_stored_or_shown(
    cloud: AppCloud, bus_service: RunningService, *, honest_beside: bool
) -> None:
    said = {"summary": [*LIES, *(HONEST["summary"] if honest_beside else [])]}
    async with asking(cloud, bus_service, lambda _: completion(said)) as (place, _endpoint):
        await place.take_in(THREAD)
        (complete,) = await place.run(SUMMARIZATION, request())
        summary = await stored_summary(place)
        everything = json.dumps(summary.to_cosmos()) + complete.to_json().decode()
        for invented in INVENTED:
            assert invented not in everything
        texts = {chunk["id"]: chunk["text"] for chunk in await place.stored("chunks")}
        assert summary.citations
        assert verify_stored(summary.citations, texts) == []
        assert all(claim.citations for claim in summary.claims)
        assert summary.reading is not None
        assert summary.reading.model is not None
        assert len(summary.reading.model.refused) >= len(LIES)
        assert ("Embedded devices are left out." in everything) == honest_beside
        assert "I object" in summary.content_markdown  # the model left this out


async def test_throttling_is_waited_out_as_long_as_the_endpoint_asks(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    answers = [json_response(429, {"error": {"message": "slow down"}}, [("Retry-After", "4")])]

    def answer(_: Any) -> Response:
        return answers.pop() if answers else completion(HONEST)

    async with asking(cloud, bus_service, answer) as (place, endpoint):
        await place.take_in(THREAD)
        runner = StageRunner(SUMMARIZATION, place.clients, Runtime(sleep=place.place.sleep))
        asked_at = place.clients.runtime.now()
        await runner.run(Delivery(request().to_json(), "id"))
        receiver = await place.place.receiver(SUMMARIZATION.name)
        (waiting,) = await receiver.peek_messages(max_message_count=5)
        assert waiting.scheduled_enqueue_time_utc is not None
        seconds = (waiting.scheduled_enqueue_time_utc - asked_at).total_seconds()
        assert 4.0 <= seconds < 4.0 + 15.0
        async with place.clients.bus.queue_sender(SUMMARIZATION.name) as sender:
            await sender.cancel_scheduled_messages(waiting.sequence_number or 0)
        # An early delivery to another worker, which makes no call for four seconds.
        another = await Clients.connect(place.clients.settings)
        try:
            runner = StageRunner(SUMMARIZATION, another, Runtime(sleep=place.place.sleep))
            await runner.run(delivery_from_sdk(waiting))
        finally:
            await another.close()
        assert len(endpoint.requests) == 2
        assert (await stored_summary(place)).generated_by == "toy"


@pytest.mark.requirement("R-509")
async def test_an_archives_token_budget_holds_across_workers_and_restarts(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    content = THREAD + mail(6, subject="Lunch", body="I propose that we eat at noon on Tuesday.")
    other, archive = thread_id("<m6@example.org>", "list"), archive_of(content).id
    chat = {"SUMMARY_ARCHIVE_TOKENS": "6000"}
    paid = completion(HONEST, tokens=5500)
    async with asking(cloud, bus_service, lambda _: paid, **chat) as (place, endpoint):
        await place.take_in(content)
        await place.run(SUMMARIZATION, request())
        account = await place.clients.store.read(TokenAccount, archive, Session())
        assert (account.used, account.reserved, account.calls) == (5500, 0, 1)
        restarted = await Clients.connect(place.clients.settings)
        try:
            budget = StoredBudget(restarted.store, archive, 6000, restarted.runtime.now)
            assert not await budget.reserve(501)
            await place.run(SUMMARIZATION, request(thread=other))
        finally:
            await restarted.close()
        assert len(endpoint.requests) == 1
        summary = await stored_summary(place, other)
        assert summary.generated_by == "extractive-v2"
        assert "token budget" in summary.metadata.notes[0]


async def test_reservations_side_by_side_cannot_overspend_the_stored_budget(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        budget = StoredBudget(place.clients.store, "a1", 1000, place.clients.runtime.now)
        granted = await asyncio.gather(*(budget.reserve(300) for _ in range(8)))
        assert sum(granted) == 3
        await budget.settle(300, 50)
        assert await budget.reserve(300)
        assert not await budget.reserve(300)


async def test_a_thread_beyond_the_window_is_read_whole_in_parts(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    mails = [mail(0, body="I propose a registry for this.")]
    mails += [mail(i, parent=0, body=f"Remark {i}. " + "More words on it. " * 60) for i in range(1, 27)]
    mails.append(mail(27, parent=0, body="I strongly object to the registry as it stands."))
    async with asking(cloud, bus_service, lambda _: completion(HONEST)) as (place, endpoint):
        await place.take_in(b"".join(mails))
        await place.run(SUMMARIZATION, request())
        asked = [json.loads(one["messages"][1]["content"])["mails"] for one in endpoint.asked]
        assert len(asked) > 1
        assert {entry["mail"] for part in asked for entry in part} == set(range(1, 29))
        assert "strongly object" in json.dumps(asked)
        summary = await stored_summary(place)
        assert "I strongly object to the registry" in summary.content_markdown


async def test_a_template_that_does_not_exist_is_refused_by_name(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with asking(cloud, bus_service, lambda _: completion(HONEST)) as (place, endpoint):
        await place.take_in(THREAD)
        with pytest.raises(PermanentError, match="no prompt template 'poem'"):
            await place.run(SUMMARIZATION, request(prompt_template="poem"))
        assert endpoint.requests == []


async def test_azure_openai_is_asked_with_the_managed_identitys_token(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_token(asked: Request) -> Response:
        assert "cognitiveservices.azure.com" in asked.query
        assert dict(asked.headers)["x-identity-header"] == "of this app"
        token = {"access_token": "the token", "expires_on": "4102444800", "token_type": "Bearer"}
        token["resource"] = "https://cognitiveservices.azure.com"
        return json_response(200, token)

    identity = HttpServer(give_token)
    port = await identity.start("127.0.0.1", 0)
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{port}/msi/token")
    monkeypatch.setenv("IDENTITY_HEADER", "of this app")
    try:
        azure = {"SUMMARY_BACKEND": "azureopenai"}
        async with asking(cloud, bus_service, lambda _: completion(HONEST), **azure) as (place, endpoint):
            await place.take_in(THREAD)
            await place.run(SUMMARIZATION, request(llm_backend="azureopenai"))
            (asked,) = endpoint.requests
            assert dict(asked.headers)["authorization"] == "Bearer the token"
            assert "/openai/deployments/toy/chat/completions" in asked.path
            assert (await stored_summary(place)).generated_by == "toy"
    finally:
        await identity.stop()
