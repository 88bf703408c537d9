"""Permanent addresses of mails and threads by Message-ID, and threads as mbox."""

import asyncio
import re

import azure.functions as func

from shared.azure.connections import Clients
from shared.core.ids import person_id
from shared.mail.models import SegmentKind
from shared.models.threads import Address, Message
from shared.views.mails import address_in_archive, mail_with_id, original_mail, packed_mbox
from shared.views.parameters import page_of, page_of_mail, page_of_message
from shared.views.threads import conversation_of, resolved_thread
from web.access import client_of, is_operator, people_shown
from web.caching import BY_CALLER, NOT_SNIFFED, answer_of
from web.connected import clients, current_caller
from web.limits import RATES, Limited
from web.pages.message_body import TextMark, body_blocks
from web.parameters import asked_thread, origin_of
from web.problems import bad_parameter
from web.rendering import page, show

ANCHOR = "quote"
MOST_DIGITS = 4


@page("page_mail", "m/{*id}")
async def mail_page(req: func.HttpRequest) -> func.HttpResponse:
    """Show the full message with its main headers. `?quote=` marks words in it.

    `?copy=` reads a copy from its archive. Copy 0 is the message, and other copies may differ.
    """
    connected, stored, others = await _asked(req)
    number = _copy_asked(req, stored)
    operator = is_operator(req, connected.settings)
    if number is not None and not operator:
        RATES.take(Limited.RAW, client_of(req, current_caller()), connected.settings)
    original = None if number is None else await original_mail(connected, stored, number, unpacks=operator)
    message = stored if original is None else original.message
    wanted = req.params.get("quote", "")
    if len(wanted) > LONGEST_QUOTE:
        raise bad_parameter("quote", f"at most {LONGEST_QUOTE} characters")
    place = place_of(message, wanted)
    marks = [TextMark(*place, anchors=(ANCHOR,))] if place else []
    thread = await resolved_thread(connected, message.thread_id)
    return show(
        req,
        "pages/mail.html",
        headers=BY_CALLER,
        message=message,
        thread=thread,
        people=_people(message),
        blocks=body_blocks(message, marks, most=len(message.body_raw)),
        quoted=wanted,
        found=place is not None,
        permalink=page_of_mail(message.message_id),
        origin=origin_of(req, connected.settings),
        in_thread=page_of_message(message.thread_id, message.id),
        elsewhere=await address_in_archive(connected, message, thread.sources),
        operator=operator,
        others=others,
        original=original,
        copies=_copies(stored),
        sender=_person_page(req, connected, message),
    )


@page("page_thread_of_mail", "t/{*id}")
async def thread_of_mail_page(req: func.HttpRequest) -> func.HttpResponse:
    """Redirect to the current thread of the mail. A later mail can merge it into another thread."""
    _, message, _ = await _asked(req)
    address = page_of_message(message.thread_id, message.id)
    return func.HttpResponse(status_code=302, headers={"Location": address, "Cache-Control": "no-cache"})


@page("page_thread_mbox", "threads/{id}/mbox.gz")
async def thread_mbox(req: func.HttpRequest) -> func.HttpResponse:
    connected, thread = await asked_thread(req)
    conversation = await conversation_of(connected, thread, answers=False)
    messages = [placed.message for placed in conversation.placed()]
    packed = await asyncio.to_thread(packed_mbox, messages, whole=current_caller().sees_addresses)
    saved = {"Content-Disposition": f'attachment; filename="{thread.id}.mbox.gz"'}
    return answer_of(req, packed, "application/gzip", headers={**NOT_SNIFFED, **BY_CALLER, **saved})


def _person_page(req: func.HttpRequest, connected: Clients, message: Message) -> str | None:
    if not message.from_.email or not people_shown(req, connected.settings):
        return None
    return page_of("people", person_id(message.from_.email))


async def _asked(req: func.HttpRequest) -> tuple[Clients, Message, list[str]]:
    """Return the message in the list that `?list=` names, or the first one, and the other lists."""
    connected = await clients()
    copies = await mail_with_id(connected, req.route_params.get("id", "").rstrip("/"))
    wanted = req.params.get("list")
    chosen = next((copy for copy in copies if copy.source == wanted), copies[0])
    return connected, chosen, sorted({copy.source for copy in copies if copy.source != chosen.source})


def _copy_asked(req: func.HttpRequest, message: Message) -> int | None:
    """Return the number of the copy to read from its archive, or None for the stored message."""
    given = req.params.get("copy")
    if given is None:
        return None
    if not given.isascii() or not given.isdigit() or len(given) > MOST_DIGITS:
        raise bad_parameter("copy", "the number of a copy, from 0")
    if int(given) >= max(1, len(message.copies)):
        raise bad_parameter("copy", f"there are {len(message.copies)} copies, from 0")
    return int(given)


def _copies(message: Message) -> list[tuple[int, str]]:
    """Return the copies to read from archives: the message, and one copy of each other content."""
    first: dict[str, int] = {}
    for number, copy in enumerate(message.copies):
        first.setdefault(copy.identity, number)
    names = ("Original copy", "Another version")
    return [(number, names[number > 0]) for number in first.values()]


def _people(message: Message) -> list[tuple[str, list[str]]]:
    rows = (("From", [message.from_]), ("To", message.to), ("Cc", message.cc))
    return [(name, [_words(person) for person in people]) for name, people in rows if people]


def _words(person: Address) -> str:
    return f"{person.name} <{person.email}>" if person.name and person.email else person.name or person.email


LONGEST_QUOTE = 2000


def place_of(message: Message, quoted: str) -> tuple[int, int] | None:
    """Return the first place of the words in the sender's own text, or None. Line breaks may differ."""
    words = quoted.split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
    for segment in message.segments or [{"kind": SegmentKind.NEW, "start": 0, "end": len(message.body_raw)}]:
        own = segment["kind"] == SegmentKind.NEW  # other segments are quotations
        if own and (found := pattern.search(message.body_raw, segment["start"], segment["end"])):
            return found.span()
    return None
