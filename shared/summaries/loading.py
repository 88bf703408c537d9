"""A thread out of the store, as summarizers read it."""

from shared.clients import Clients
from shared.consensus import analyse_thread
from shared.documents import Chunk, Message, Thread, read_document
from shared.errors import DocumentNotFoundError
from shared.session import Session
from shared.store.queries import CHUNKS_OF_THREAD, MESSAGES_OF_THREAD
from shared.summaries.models import ContextChunk, ContextMessage, ThreadContext

__all__ = ["load_context"]


async def load_context(
    clients: Clients, thread: Thread, session: Session, *, window: int, top_k: int
) -> ThreadContext:
    """All messages of the thread, in order, and all their chunks."""
    store = clients.store
    messages = [
        read_document(Message, each)
        async for each in store.query(MESSAGES_OF_THREAD, session, partition=thread.id)
    ]
    if len(messages) < thread.message_count:
        raise DocumentNotFoundError(f"{len(messages)} of {thread.message_count} messages are there")
    chunks = [
        read_document(Chunk, each)
        async for each in store.query(CHUNKS_OF_THREAD, session, partition=thread.id)
    ]
    read = [_message(each) for each in messages]
    order = {message.id: position for position, message in enumerate(messages)}
    chunks.sort(key=lambda chunk: (order.get(chunk.message_key, len(order)), chunk.chunk_index))
    return ThreadContext(
        thread_id=thread.id,
        subject=thread.subject,
        messages=read,
        chunks=[
            ContextChunk(each.id, each.message_key, each.chunk_index, each.text, each.token_count)
            for each in chunks
        ],
        consensus=analyse_thread(each.for_consensus() for each in read),
        context_window_tokens=window,
        top_k=top_k,
    )


def _message(message: Message) -> ContextMessage:
    return ContextMessage(
        key=message.id,
        message_id=message.message_id,
        sender_email=message.from_.email,
        sender_name=message.from_.name,
        text=message.body_normalized,
        date=message.date,
        subject=message.subject,
        in_reply_to=message.in_reply_to,
    )
