"""Mails of other lists that answer into a thread: shown there with their list, and not counted there.

They are looked up when they are shown, by what they say that they answer (In-Reply-To): so it does not matter
which list's archive came first, and nothing of another list is ever stored with a thread.
"""

from collections.abc import Sequence
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import MAX_IDS_PER_QUERY
from shared.documents.messages import Address, Message
from shared.documents.queries.messages import ANSWERS_OF_OTHER_LISTS
from shared.documents.threads import Thread
from shared.retrieval.links import api_of, page_of_message
from shared.retrieval.read_models import AnswerElsewhere


async def answers_of_other_lists(
    clients: Clients, thread: Thread, messages: Sequence[Message]
) -> list[AnswerElsewhere]:
    """At most fifty, in one query; a cross-post, which the thread has itself, is none."""
    own = {message.message_id for message in messages}
    if not own or not thread.source:
        return []
    ids = sorted(own)[:MAX_IDS_PER_QUERY]
    rows = clients.store.query(ANSWERS_OF_OTHER_LISTS, Session(), ids=ids, source=thread.source)
    found = [_answer(row) async for row in rows if row["message_id"] not in own]
    return sorted(found, key=lambda answer: (answer.source, answer.message_id))


def _answer(row: dict[str, Any]) -> AnswerElsewhere:
    return AnswerElsewhere(
        message_key=row["id"],
        message_id=row["message_id"],
        answers=row["in_reply_to"],
        source=row["source"],
        thread_id=row["thread_id"],
        sender=Address.model_validate(row["from"]),
        date=row["date"],
        beginning=" ".join(str(row["beginning"]).split()),
        links={
            "self": api_of("messages", row["id"]),
            "page": page_of_message(row["thread_id"], row["id"]),
        },
    )
