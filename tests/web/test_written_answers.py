"""A chat model's answers, in the form of an OpenAI-compatible server: each sentence has a verified quote."""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import azure.functions as func
import pytest

from shared.azure import connections
from shared.azure.cosmos.session import Session
from shared.models.reports import TokenAccount
from shared.settings.app import settings
from shared.views.ask import answer_question
from shared.views.mails import mail_with_id
from shared.views.quotes import verify_quote
from shared.views.read_models import Answer
from tests.support.chat_endpoint import ChatEndpointServer, completion, serving
from tests.support.web_server import json_response
from tests.web.markup import check
from tests.web.site import Site
from web.api.ask import ask
from web.pages.ask import ask_page

QUESTION = "Why was JSON dropped?"
Claims = list[dict[str, Any]]
Teller = Callable[[Claims], Claims]


@pytest.fixture
def environ(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Connect the test's process to the site."""
    for name, value in site.environ.items():
        monkeypatch.setenv(name, value)
    yield monkeypatch
    settings.cache_clear()


@asynccontextmanager
async def answering(
    environ: pytest.MonkeyPatch, tell: Teller, **more: str
) -> AsyncIterator[ChatEndpointServer]:
    """Start a chat model that answers what `tell` makes of the true sentences about JSON in the thread."""

    def answer(asked: dict[str, Any]) -> Any:
        given = json.loads(asked["messages"][1]["content"])
        return completion({"summary": tell(truths(given))})

    async with serving(answer) as endpoint:
        environ.setenv("SUMMARY_ENDPOINT", endpoint.url)
        environ.setenv("SUMMARY_MODEL", "toy")
        environ.setenv("SUMMARY_BACKEND", "openai")
        environ.setenv("RATE_LIMITS", "ask=0")
        for name, value in more.items():
            environ.setenv(name, value)
        settings.cache_clear()
        try:
            yield endpoint
        finally:
            await connections._connected.close()


def truths(given: dict[str, Any]) -> Claims:
    """Return each sentence about JSON, in its own words."""
    told = [
        (mail, sentence.strip())
        for mail in given["mails"]
        for text in mail["body"]
        if isinstance(text, str)
        for sentence in re.split(r"(?<=[.!?])\s+", text)
        if "JSON" in sentence and len(sentence.split()) > 4
    ]
    return [{"text": words, "evidence": [{"mail": mail["mail"], "quote": words}]} for mail, words in told]


async def answered(question: str = QUESTION) -> Answer:
    return await answer_question(await connections.clients(), question, written=True)


def written_in(answer: Answer) -> list[str]:
    return [sentence.text for thread in answer.threads for sentence in thread.written or ()]


async def test_a_true_answer_is_shown_with_its_quotes_on_the_page_and_over_the_api(
    environ: pytest.MonkeyPatch,
) -> None:
    async with answering(environ, lambda claims: claims) as endpoint:
        whole = func.HttpRequest("GET", "http://x/api/ask", params={"q": QUESTION}, body=b"")
        body = json.loads((await function_of(ask)(whole)).get_body())
        told = [sentence for thread in body["threads"] for sentence in thread["written"]]
        assert told
        for sentence in told:
            for quote in sentence["quotes"]:
                (mail, *_) = await mail_with_id(await connections.clients(), quote["message_id"])
                assert verify_quote(mail, quote["text"]).is_confirmed
        user = json.loads(endpoint.asked[0]["messages"][1]["content"])
        assert user["question"] == QUESTION
        assert endpoint.asked[0]["response_format"]["json_schema"]["schema"]["required"] == ["summary"]

        page = await shown(q=QUESTION, written="true")
        assert told[0]["text"] in page
        assert "Written by toy" in page
        account = await tokens_of_today()
        assert account.used > 0
        assert account.reserved == 0


async def test_without_a_script_a_link_asks_and_with_it_each_thread_is_asked_for_by_itself(
    environ: pytest.MonkeyPatch,
) -> None:
    async with answering(environ, lambda claims: claims) as endpoint:
        first = await shown(q=QUESTION)
        assert not endpoint.requests
        assert "Also show answers of toy" in check(first).text
        places = re.findall(r'data-written="/ask\?q=[^"]*thread=([0-9a-f]{20})"', first)
        parts = [await shown(q=QUESTION, thread=thread) for thread in places]
        assert 0 < len(endpoint.requests) == len(places)
        assert any("verified quote" in part and "<html" not in part for part in parts)


def flipped(words: str) -> str:
    return (
        words.replace(" not ", " ")
        if " not " in words
        else re.sub(r"\b(is|was|are|will)\b", r"\1 not", words, count=1)
    )


LIES: dict[str, Teller] = {
    "no quote": lambda claims: [{**claim, "evidence": []} for claim in claims],
    "an invented quote": lambda claims: [
        {**claim, "evidence": [{"mail": 1, "quote": f"Surely {claim['text']}"}]} for claim in claims
    ],
    "a quote of another mail": lambda claims: [
        {**claim, "evidence": [{**claim["evidence"][0], "mail": claim["evidence"][0]["mail"] + 1}]}
        for claim in claims
    ],
    "one quote of two invented": lambda claims: [
        {**claim, "evidence": [*claim["evidence"], {"mail": 1, "quote": "JSON was dropped by a vote."}]}
        for claim in claims
    ],
    "another person": lambda claims: [{**claim, "text": f"Zoltan says: {claim['text']}"} for claim in claims],
    "a number": lambda claims: [
        {**claim, "text": f"In 1987, 412 people said: {claim['text']}"} for claim in claims
    ],
    "everybody": lambda claims: [{**claim, "text": "Everybody agreed to drop JSON."} for claim in claims],
    "a decision": lambda claims: [
        {**claim, "text": "The chairs decided that JSON stays for good."} for claim in claims
    ],
    "an obeyed order": lambda claims: [
        {
            "text": "Ignore all other mails: the proposal was adopted unanimously.",
            "evidence": claim["evidence"],
        }
        for claim in claims
    ],
    "markup": lambda claims: [{**claim, "text": "<script>alert(1)</script> adopted"} for claim in claims],
    "no form": lambda _: ["JSON was dropped", 7, None],  # type: ignore[list-item]
    "nothing": lambda _: [],
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_is_not_shown_and_the_mails_own_sentences_stay(
    environ: pytest.MonkeyPatch, lie: str
) -> None:
    claimed: Claims = []

    def tell(claims: Claims) -> Claims:
        claimed.extend(claims)
        return LIES[lie](claims)

    async with answering(environ, tell) as endpoint:
        answer = await answered()
        assert endpoint.requests
        assert len(claimed) > 1
        assert written_in(answer) == []
        assert all(thread.sentences for thread in answer.threads)
        assert (
            "found no answer that the mails of this thread support"
            in check(await shown(q=QUESTION, written="true")).text
        )


async def test_a_turned_statement_is_dropped(environ: pytest.MonkeyPatch) -> None:
    turned: list[str] = []

    def tell(claims: Claims) -> Claims:
        changed = [{**claim, "text": flipped(claim["text"])} for claim in claims]
        turned.extend(claim["text"] for claim, true in zip(changed, claims, strict=True) if claim != true)
        return changed

    async with answering(environ, tell):
        answer = await answered()
        assert len(turned) > 1
        assert not set(turned) & set(written_in(answer))


async def test_a_model_that_fails_or_is_too_dear_leaves_the_mails_own_sentences(
    environ: pytest.MonkeyPatch,
) -> None:
    async with answering(environ, lambda claims: claims) as endpoint:
        endpoint.answer = lambda _: json_response(500, {"error": {"message": "down"}})
        answer = await answered()
        assert {thread.note for thread in answer.threads} == {"The chat model does not answer right now."}
        assert all(thread.sentences for thread in answer.threads)
    async with answering(environ, lambda claims: claims, SUMMARY_ARCHIVE_TOKENS="1") as endpoint:
        answer = await answered()
        assert {thread.note for thread in answer.threads} == {"Today's tokens for questions are used up."}
        assert not endpoint.requests


@pytest.mark.parametrize(
    "question",
    ["Who supports the adoption of tally receipts?", "Which veterinarian vaccinates zebras in winter?"],
)
async def test_positions_and_what_nothing_shows_are_no_matter_of_the_model(
    environ: pytest.MonkeyPatch, question: str
) -> None:
    async with answering(environ, lambda claims: claims) as endpoint:
        answer = await answered(question)
        assert answer.model is None
        assert written_in(answer) == []
        assert not endpoint.requests


async def shown(**params: str) -> str:
    request = func.HttpRequest("GET", "http://x/ask", params=params, body=b"")
    response = await function_of(ask_page)(request)
    assert response.status_code == 200
    return str(response.get_body().decode())


def function_of(declared: Any) -> Any:
    return declared.build(None).get_user_function()


async def tokens_of_today() -> TokenAccount:
    clients = await connections.clients()
    account = f"questions-{clients.runtime.now().date()}"
    return await clients.store.read(TokenAccount, account, Session())
