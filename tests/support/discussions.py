"""Threads for the tests of summaries: messages, chunks cut from their text, and their outcome."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from shared.models.values import SourceProfile
from shared.reading.mails import ThreadMail
from shared.reading.reader import read_thread
from shared.summaries.models import ContextChunk, ContextMessage, ThreadContext

__all__ = ["chunked", "discussion", "letters"]

START = datetime(2024, 1, 1, tzinfo=UTC)


def letters(*said: tuple[str, str], subject: str = "Adoption of draft-foo-bar") -> list[ContextMessage]:
    """Return messages by (name, text), a day apart, each an answer to the first."""
    return [
        ContextMessage(
            key=f"k{number}",
            message_id=f"<{number}@example.com>",
            sender_email=f"{name.lower().replace(' ', '.')}@example.com",
            text=text,
            sender_name=name,
            date=START + timedelta(days=number),
            subject=subject,
            in_reply_to="<0@example.com>" if number else None,
        )
        for number, (name, text) in enumerate(said)
    ]


def chunked(message: ContextMessage, size: int = 600) -> Iterator[ContextChunk]:
    """Cut the message's text into chunks of about `size` characters, between words or sentences."""
    start, index, text = 0, 0, message.text
    while start < len(text):
        end = min(len(text), start + size)
        while end < len(text) and not text[end].isspace():
            end += 1
        piece = text[start:end].strip()
        if piece:
            yield ContextChunk(f"{message.key}-c{index}", message.key, index, piece, -(-len(piece) // 4))
            index += 1
        start = end


def discussion(
    messages: Sequence[ContextMessage],
    *,
    subject: str = "Adoption of draft-foo-bar",
    window: int = 8000,
    size: int = 600,
    profile: SourceProfile | None = None,
) -> ThreadContext:
    mails = [_mail(message) for message in messages]
    return ThreadContext(
        thread_id="t1",
        subject=subject,
        messages=messages,
        chunks=[chunk for message in messages for chunk in chunked(message, size)],
        reading=read_thread(mails, profile),
        context_window_tokens=window,
        mails=mails,
        profile=profile or SourceProfile(),
    )


def _mail(message: ContextMessage) -> ThreadMail:
    return ThreadMail(
        message_id=message.message_id,
        address=message.sender_email,
        text=message.text,
        name=message.sender_name,
        subject=message.subject,
        date=message.date,
        reply_to=message.in_reply_to,
    )
