"""API of threads and of their messages in reading order."""

import azure.functions as func
from pydantic import Field

from shared.core.errors import InvalidCursorError
from shared.views.conversation import Placed
from shared.views.listing import THREADS
from shared.views.parameters import Limit, MessageKey, QueryParameters, ThreadsAsked, api_of
from shared.views.read_models import (
    MessageInThread,
    MessagesOfThread,
    ThreadDetail,
    ThreadItem,
    ThreadList,
    message_links,
)
from shared.views.threads import conversation_of
from web.api.openapi import endpoint
from web.caching import answer_with
from web.connected import clients
from web.parameters import asked_thread, next_address, parse_query

ONE = "api/threads/{id}"


@endpoint("threads_list", "GET", "api/threads", {200: ThreadList}, query=ThreadsAsked)
async def list_threads(req: func.HttpRequest) -> func.HttpResponse:
    """Threads, latest activity first."""
    wanted, connected = parse_query(req, ThreadsAsked), await clients()
    page = await THREADS.page(
        connected.store, sort=wanted.sort, filters=wanted.filters(), after=wanted.after, size=wanted.limit
    )
    items = [ThreadItem.of(thread) for thread in page.items]
    return answer_with(req, ThreadList(items=items, next=next_address(req, "/api/threads", page.cursor)))


@endpoint("threads_get", "GET", ONE, {200: ThreadDetail})
async def get_thread(req: func.HttpRequest) -> func.HttpResponse:
    """One thread, or the thread that it was merged into."""
    return answer_with(req, ThreadDetail.of((await asked_thread(req))[1]))


class MessagesAsked(QueryParameters):
    limit: Limit = 100
    after: MessageKey | None = Field(None, description="`next` of the previous page")


@endpoint("threads_messages", "GET", f"{ONE}/messages", {200: MessagesOfThread}, query=MessagesAsked)
async def list_messages(req: func.HttpRequest) -> func.HttpResponse:
    """The messages of a thread in reply order, with their depth. Messages in `missing` are not stored."""
    wanted = parse_query(req, MessagesAsked)
    connected, thread = await asked_thread(req)
    conversation = await conversation_of(connected, thread)
    placed = conversation.placed()
    start = _after(placed, wanted.after)
    page = placed[start : start + wanted.limit]
    more = len(placed) > start + wanted.limit
    path = f"{api_of('threads', thread.id)}/messages"
    return answer_with(
        req,
        MessagesOfThread(
            thread_id=thread.id,
            message_count=len(placed),
            missing=max(thread.message_count - len(placed), 0),
            items=[_in_thread(reply) for reply in page],
            elsewhere=conversation.elsewhere,
            next=next_address(req, path, page[-1].message.id if more else None),
        ),
    )


def _after(placed: list[Placed], key: str | None) -> int:
    if key is None:
        return 0
    for position, reply in enumerate(placed):
        if reply.message.id == key:
            return position + 1
    raise InvalidCursorError("is not a message of this thread")


def _in_thread(placed: Placed) -> MessageInThread:
    message = placed.message
    return MessageInThread(
        message_key=message.id,
        message_id=message.message_id,
        parent_key=placed.parent.id if placed.parent else None,
        depth=placed.depth,
        subject=message.subject,
        sender=message.from_,
        date=message.date,
        text=message.body_normalized,
        status=message.status,
        links=message_links(message.id, message.thread_id),
    )
