"""Mails of other lists that answer into a thread: shown there with their list, and not counted there.

They are looked up when they are shown, by what they say that they answer (In-Reply-To): so it does not matter
which list's archive came first, and nothing of another list is ever stored with a thread.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import MAX_IDS_PER_QUERY
from shared.documents.queries.threads import MESSAGES_AND_ANSWERS_OF_OTHER_LISTS
from shared.documents.threads import Message, Thread
from shared.retrieval.links import api_of, page_of_message
from shared.retrieval.read_models import AnswerElsewhere
from shared.retrieval.reports import messages_of

MOST_ANSWERS = 50
BEGINNING = 300
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Conversation:
    messages: list[Message]
    elsewhere: list[AnswerElsewhere]


async def conversation_of(clients: Clients, thread: Thread) -> Conversation:
    """A thread's messages, and at most fifty answers of other lists, in one query.

    A cross-post, which the thread has itself, is no answer. What the messages are called is known from the
    thread's document, so that the answers need not wait for them.
    """
    if not thread.source:
        return Conversation(await messages_of(clients, thread.id), [])
    members = thread.threading.get("members", [])
    found = await clients.store.query_documents(
        Message,
        MESSAGES_AND_ANSWERS_OF_OTHER_LISTS,
        Session(),
        thread=thread.id,
        ids=sorted(member["id"] for member in members)[:MAX_IDS_PER_QUERY],
        source=thread.source,
    )
    messages = [message for message in found if message.thread_id == thread.id]
    messages.sort(key=lambda message: (message.date or _NEVER, message.id))
    own = {message.message_id for message in messages}
    others = [
        message for message in found if message.thread_id != thread.id and message.message_id not in own
    ]
    others.sort(key=lambda answer: (answer.source, answer.message_id))
    return Conversation(messages, [_answer(message) for message in others[:MOST_ANSWERS]])


def _answer(message: Message) -> AnswerElsewhere:
    return AnswerElsewhere(
        message_key=message.id,
        message_id=message.message_id,
        answers=message.in_reply_to or "",
        source=message.source,
        thread_id=message.thread_id,
        sender=message.from_,
        date=message.date,
        beginning=" ".join(message.body_normalized[:BEGINNING].split()),
        links={
            "self": api_of("messages", message.id),
            "page": page_of_message(message.thread_id, message.id),
        },
    )
