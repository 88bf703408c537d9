"""Tools and resources for assistants (MCP): the contents of the pages as JSON, with permalinks.

The Functions host speaks the protocol at /runtime/webhooks/mcp. Callers are authenticated as for pages. Each
result has a maximum size and counts the omitted items.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import azure.functions as func
from pydantic import BaseModel, ValidationError

from shared.azure.calls import as_request
from shared.core.errors import NotFoundError
from shared.core.ids import person_id
from shared.mail.archive_addresses import bare_message_id
from shared.mail.masking import addresses_in, mask_json
from shared.models.threads import Message, Thread
from shared.settings.app import settings
from shared.views.ask import Question, answer_question
from shared.views.listing import THREADS
from shared.views.mails import mail_with_id
from shared.views.parameters import page_of, page_of_mail
from shared.views.quotes import verify_quote
from shared.views.read_models import FoundThread
from shared.views.search import SearchAsked, find
from shared.views.threads import conversation_of, resolved_thread, summary_of
from shared.views.topics import person_view
from web.access import READERS, ROLE, caller_of, check_admitted, client_of
from web.connected import clients, current_caller, set_caller
from web.limits import RATES, Limited
from web.problems import as_problem
from web.routes import blueprint

LONGEST_RESULT, LONGEST_TEXT, MOST_CALLS = 24_000, 4_000, 50
ARGUMENTS = {str: "string", int: "integer"}
Tool = Callable[..., Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class Parameter:
    name: str
    description: str
    kind: type = str
    required: bool = True

    @property
    def declared(self) -> dict[str, Any]:
        return {
            "propertyName": self.name,
            "propertyType": ARGUMENTS[self.kind],
            "description": self.description,
            "isRequired": self.required,
            "isArray": False,
        }


def tool(name: str, *parameters: Parameter, limited: Limited | None = None) -> Callable[[Tool], Any]:
    """Register a tool. Assistants read its docstring as the description."""

    def register(work: Tool) -> Any:
        async def answer(call: str) -> str:
            return await _answer(call, limited, lambda given: work(**_arguments(given, parameters)))

        declared = json.dumps([parameter.declared for parameter in parameters])
        triggered = blueprint.mcp_tool_trigger(
            arg_name="call",
            tool_name=name,
            description=inspect.cleandoc(work.__doc__ or ""),
            tool_properties=declared,
        )
        return blueprint.function_name(f"mcp_{name}")(triggered(answer))

    return register


def resource(kind: str, description: str) -> Callable[[Tool], Any]:
    def register(work: Tool) -> Any:
        async def answer(call: str) -> str:
            return await _answer(call, None, lambda given: work(str(given["uri"]).rpartition("/")[2]))

        triggered = blueprint.mcp_resource_trigger(
            arg_name="call",
            uri=f"roughconsensus://{kind}/{{id}}",
            resource_name=kind,
            description=description,
            mime_type="application/json",
        )
        return blueprint.function_name(f"mcp_resource_{kind}")(triggered(answer))

    return register


def _arguments(given: Mapping[str, Any], parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    arguments = given.get("arguments") or {}
    known = {parameter.name: parameter.kind for parameter in parameters}
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise ValueError(f"{unknown[0][:100]!r} is not an argument. Known arguments: {', '.join(known)}.")
    wrong = [name for name, value in arguments.items() if not isinstance(value, known[name])]
    if wrong:
        raise ValueError(f"{wrong[0]} has to be of the type {ARGUMENTS[known[wrong[0]]]}.")
    return dict(arguments)


async def _answer(
    call: str, limited: Limited | None, work: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
) -> str:
    """Return the result as JSON. Faults are in `error`, so that the assistant can correct its call."""
    known = frozenset[str]()
    with as_request():
        try:
            given = json.loads(call)
            await _admit(given, limited)
            known = addresses_in(str(value) for value in (given.get("arguments") or {}).values())
            result = await work(given)
        except ValidationError as error:
            result = {"error": error.errors(include_input=False, include_url=False)[0]["msg"]}
        except ValueError as error:
            result = {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - as_problem logs unknown errors
            result = {"error": as_problem(error).detail}
    shown = result if current_caller().sees_addresses else mask_json(result, known)
    return _bounded(shown)


async def _admit(given: Mapping[str, Any], limited: Limited | None) -> None:
    """Check access and limits as web/routes.py does, by the headers that the host passes on."""
    transport = given.get("transport") or {}
    headers = (transport.get("properties") or transport).get("headers") or {}
    plain = {name: value[0] if isinstance(value, list) else str(value) for name, value in headers.items()}
    req = func.HttpRequest("POST", "/runtime/webhooks/mcp", headers=plain, body=b"")
    known = settings()
    caller = await caller_of(req, known)
    set_caller(caller)
    check_admitted(caller, known, READERS)
    if limited is not None and ROLE not in caller.roles:
        RATES.take(limited, client_of(req, caller), known)


def _bounded(result: dict[str, Any]) -> str:
    """Cut the first list until the result fits. `left_out` counts the omitted items."""
    items = next((value for value in result.values() if isinstance(value, list) and value), None)
    left_out = int(result.get("left_out") or 0)
    text = json.dumps(result, ensure_ascii=False)
    while len(text) > LONGEST_RESULT and items:
        items.pop()
        left_out += 1
        text = json.dumps({**result, "left_out": left_out}, ensure_ascii=False)
    if len(text) > LONGEST_RESULT:
        return json.dumps({"error": "The result is too long.", "left_out": left_out})
    return text


def _shown(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _address(path: str) -> str:
    base = str(settings().PUBLIC_URL or "").rstrip("/")
    return f"{base}{path}"


@tool(
    "search",
    Parameter(
        "query", 'Words, and operators such as from:name, list:name, "a phrase", -word, since:2024, is:open.'
    ),
    Parameter("limit", "How many threads, at most 20.", int, required=False),
    limited=Limited.SEARCH,
)
async def mcp_search(query: str, limit: int = 5) -> dict[str, Any]:
    """Search the mail. Return threads with their outcomes and best matching sentences.

    The result is empty if no mail is about the query.
    """
    found = await find(await clients(), SearchAsked(q=query, limit=min(max(limit, 1), 20)))
    return {
        "threads": [_found(thread) for thread in found.threads],
        "left_out": max(found.total - len(found.threads), 0) if found.wanted.query.ranking else 0,
        **({"note": found.note} if found.note else {}),
    }


def _found(thread: FoundThread) -> dict[str, Any]:
    best = thread.items[0]
    quote = " ".join(best.sentence.split())
    return {
        "thread_id": thread.thread_id,
        "subject": thread.subject,
        "list": thread.source,
        "outcome": _shown(thread.outcome) if thread.outcome else None,
        "page": _address(thread.links["page"]),
        "quote": {
            "text": quote,
            "from": best.sender.name or best.sender.email,
            "date": best.date.isoformat() if best.date else None,
            "message_id": best.message_id,
            "page": _address(page_of_mail(best.message_id, quote)),
        },
    }


@tool(
    "ask",
    Parameter("question", "A question about what was said or decided on the lists."),
    limited=Limited.ASK,
)
async def mcp_ask(question: str) -> dict[str, Any]:
    """Answer a question with verbatim sentences of the mail, permalinks, and outcomes.

    Questions about positions of people are answered from recorded positions. The text says if the mail shows
    no answer.
    """
    answer = await answer_question(await clients(), Question(q=question).q)
    shown = _shown(answer)
    for sentence in (sentence for thread in shown["threads"] for sentence in thread["sentences"]):
        sentence["page"] = _address(sentence["page"])
    return shown


@tool("get_thread", Parameter("thread_id", "The id that other tools give, 20 digits."))
async def mcp_get_thread(thread_id: str) -> dict[str, Any]:
    """Return a thread: its outcome, and its messages in reading order. Long messages are cut."""
    return await _thread(thread_id)


async def _thread(thread_id: str) -> dict[str, Any]:
    connected = await clients()
    thread = await resolved_thread(connected, thread_id)
    placed = (await conversation_of(connected, thread, answers=False)).placed()
    messages = [{**_message(place.message), "depth": place.depth} for place in placed]
    return {"messages": messages, **_outcome(thread)}


@tool("get_outcome", Parameter("thread_id", "The id that other tools give, 20 digits."))
async def mcp_get_outcome(thread_id: str) -> dict[str, Any]:
    """Return the outcome of a thread with its evidence, and the positions of people with their quotes.

    Only outcomes and positions with high confidence are included.
    """
    connected = await clients()
    thread = await resolved_thread(connected, thread_id)
    summary = await summary_of(connected, thread)
    reading = summary.reading if summary else None
    positions = [
        {"person": position.name, "stance": position.stance.value, **_quoted(position.citation)}
        for position in (reading.positions if reading else [])
        if position.tier == "said"
    ]
    return {"positions": positions, **_outcome(thread), **_evidence(reading)}


def _evidence(reading: Any) -> dict[str, Any]:
    return {"evidence": [_quoted(cited) for cited in reading.outcome.evidence]} if reading else {}


def _quoted(citation: Any) -> dict[str, Any]:
    page = _address(page_of_mail(citation.message_id, citation.quote))
    return {"quote": citation.quote, "message_id": citation.message_id, "page": page}


def _outcome(thread: Thread) -> dict[str, Any]:
    return {
        "thread_id": thread.id,
        "subject": thread.subject,
        "list": thread.source,
        "messages_in_all": thread.message_count,
        "outcome": _shown(thread.outcome) if thread.outcome and thread.summary_id else None,
        "open_call": _shown(thread.open_call) if thread.open_call else None,
        "page": _address(page_of("threads", thread.id)),
    }


@tool("get_message", Parameter("message_id", "The Message-ID, with or without its angle brackets."))
async def mcp_get_message(message_id: str) -> dict[str, Any]:
    """Return a mail with its text, and the number of omitted characters."""
    found = await mail_with_id(await clients(), message_id)
    return {**_message(found[0], LONGEST_RESULT // 2), "lists": [message.source for message in found]}


def _message(message: Message, longest: int = LONGEST_TEXT) -> dict[str, Any]:
    text = message.body_raw
    return {
        "message_id": message.message_id,
        "from": message.from_.name or message.from_.email,
        "date": message.date.isoformat() if message.date else None,
        "subject": message.subject,
        "text": text[:longest],
        **({"characters_left_out": len(text) - longest} if len(text) > longest else {}),
        "thread_id": message.thread_id,
        "page": _address(page_of_mail(message.message_id)),
    }


@tool("positions_of", Parameter("address", "The person's e-mail address."))
async def mcp_positions_of(address: str) -> dict[str, Any]:
    """Return the positions that a person stated, with the sentences, if the site shows people."""
    connected = await clients()
    if not connected.settings.PEOPLE_PAGES and ROLE not in current_caller().roles:
        raise NotFoundError("Pages about people are turned off.")
    person = await person_view(connected, person_id(address))
    positions = [
        {
            "thread_id": stand.report.thread_id,
            "subject": stand.report.title,
            "stance": stand.stance.value if stand.stance else "objection",
            "date": stand.at.isoformat() if stand.at else None,
            **_quoted(stand.citation),
        }
        for stand in person.stands
    ]
    return {"positions": positions, "name": person.name}


@tool("open_calls", Parameter("source", "The name of a list (default: all lists).", required=False))
async def mcp_open_calls(source: str | None = None) -> dict[str, Any]:
    """Return calls and votes without a result, with their questions and deadlines."""
    filters = {"open_call": True, "source": source}
    page = await THREADS.page((await clients()).store, filters=filters, size=MOST_CALLS)
    return {"calls": [_outcome(thread) for thread in page.items], "more": page.cursor is not None}


@tool(
    "verify_quote",
    Parameter("quote", "The words, as they are to be quoted."),
    Parameter("message_id", "The Message-ID of the mail to check."),
)
async def mcp_verify_quote(quote: str, message_id: str) -> dict[str, Any]:
    """Check whether the words are in the mail as its sender's own. Only white space may differ.

    Verify every quote before you attribute it.
    """
    try:
        found = await mail_with_id(await clients(), message_id)
    except NotFoundError:
        return {"confirmed": False, "reason": "No archive here has a mail with this Message-ID."}
    verdict = verify_quote(found[0], quote)
    return {
        "confirmed": verdict.is_confirmed,
        "reason": verdict.reason,
        "message_id": f"<{bare_message_id(message_id)}>",
        "from": found[0].from_.name or found[0].from_.email,
        "page": _address(page_of_mail(message_id, quote if verdict.is_confirmed else "")),
    }


@resource("threads", "A thread with its messages, by its id.")
async def read_thread(id_: str) -> dict[str, Any]:
    return await _thread(id_)


@resource("messages", "A mail by its Message-ID.")
async def read_message(id_: str) -> dict[str, Any]:
    found = await mail_with_id(await clients(), unquote(id_))
    return _message(found[0], LONGEST_RESULT // 2)
