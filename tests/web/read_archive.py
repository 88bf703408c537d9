"""Read an archive without services: its threads with their summaries, as the pipeline stores them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shared.chunking.chunker import chunk_body
from shared.chunking.tokens import ModelTokenizer
from shared.core.ids import chunk_id, chunk_set, report_id
from shared.mail.models import ParsedMail, read_segments
from shared.mail.parse import parse_archive
from shared.models.reports import Report, Summary
from shared.models.threads import Address, Chunk, Message, Thread
from shared.models.values import SourceProfile, SummaryType
from shared.reading.reader import read_thread
from shared.summaries.extractive import ExtractiveSummarizer
from shared.summaries.models import ContextChunk, ContextMessage, ThreadContext
from shared.summarization.summary_document import summary_fields
from shared.summarization.thread_context import mails_of
from shared.threading.assignment import ThreadState
from tests.support.mail_data import open_archive
from tests.support.threads import assign

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ARCHIVE = "a" * 16


class NothingKnown:
    def by_message_ids(self, ids: Sequence[str]) -> Iterable[ThreadState]:
        del ids
        return ()

    def by_subject_keys(self, keys: Sequence[str]) -> Iterable[ThreadState]:
        del keys
        return ()


@dataclass(frozen=True)
class ReadThread:
    thread: Thread
    messages: list[Message]
    chunks: dict[str, Chunk]
    summary: Summary
    report: Report


def threads_in(path: Path, profile: SourceProfile, tokenizer: ModelTokenizer) -> Iterator[ReadThread]:
    with open_archive(path) as stream:
        mails = {mail.node: mail for mail in parse_archive(stream) if isinstance(mail, ParsedMail)}
    found: dict[str, list[Message]] = defaultdict(list)
    for node, thread in assign(mails.values(), NothingKnown()).assignments.items():
        found[thread].append(_message(mails[node], thread))
    for id_, messages in found.items():
        yield _read(id_, path.name.partition(".")[0], messages, profile, tokenizer)


def _message(mail: ParsedMail, thread: str) -> Message:
    return Message.model_validate(
        {
            "created_at": NOW, "id": mail.message_key, "message_key": mail.message_key,
            "message_id": mail.node, "archive_id": ARCHIVE, "thread_id": thread, "subject": mail.subject,
            "from": Address(name=mail.sender.name, email=mail.sender.email), "date": mail.date,
            "in_reply_to": next(iter(mail.in_reply_to), None), "references": mail.references,
            "body_raw": mail.body_raw, "body_normalized": mail.body_normalized, "status": "processed",
            "segments": [{"kind": kind.value, "start": at, "end": end} for kind, at, end in mail.segments],
        }
    )  # fmt: skip


def _read(
    id_: str, source: str, messages: list[Message], profile: SourceProfile, tokenizer: ModelTokenizer
) -> ReadThread:
    messages.sort(key=lambda message: (message.date or NOW, message.id))
    people = {message.from_.email.lower(): message.from_ for message in messages}
    thread = Thread.model_validate(
        {
            "created_at": NOW, "id": id_, "thread_id": id_, "root_message_id": messages[0].message_id,
            "archive_id": ARCHIVE, "source": source, "sources": [source], "subject": messages[0].subject,
            "participants": list(people.values()), "message_count": len(messages), "status": "processed",
            "summary_id": "s1", "report_id": report_id("s1"),
        }
    )  # fmt: skip
    chunks = [chunk for message in messages for chunk in _chunks(message, tokenizer)]
    mails = mails_of(thread, messages, profile)
    context = ThreadContext(
        thread_id=id_,
        subject=thread.subject,
        messages=[_context(message) for message in messages],
        chunks=[
            ContextChunk(chunk.id, chunk.message_key, chunk.chunk_index, chunk.text, chunk.token_count)
            for chunk in chunks
        ],
        reading=read_thread(mails, profile),
        mails=mails,
        profile=profile,
    )
    made = ExtractiveSummarizer().summary(context)
    summary = Summary(
        created_at=NOW, id="s1", summary_id="s1", scope=id_, thread_id=id_, summary_type=SummaryType.THREAD,
        generated_at=NOW, **summary_fields(made, thread, context.messages),
    )  # fmt: skip
    assert summary.reading is not None
    outcome = summary.reading.shown_outcome
    report = Report(
        created_at=NOW, id=report_id("s1"), report_id=report_id("s1"), scope=id_, summary_id="s1",
        summary_type=SummaryType.THREAD, thread_id=id_, thread_ids=[id_], title=summary.title, published_at=NOW, source=source,
        participants=thread.participants, counts=summary.counts, outcome=outcome,
        has_consensus=summary.reading.has_consensus,
    )  # fmt: skip
    shown = thread.model_copy(update={"outcome": outcome})
    return ReadThread(shown, messages, {chunk.id: chunk for chunk in chunks}, summary, report)


def _context(message: Message) -> ContextMessage:
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


def _chunks(message: Message, tokenizer: ModelTokenizer) -> Iterator[Chunk]:
    for piece in chunk_body(message.body_raw, read_segments(message.segments), tokenizer):
        id_ = chunk_id(message.id, chunk_set(1, "whole"), piece.index)
        yield Chunk(
            created_at=NOW, id=id_, chunk_id=id_, message_key=message.id, message_id=message.message_id,
            thread_id=message.thread_id, archive_id=ARCHIVE, chunk_index=piece.index, text=piece.text,
            token_count=piece.token_count, start_offset=piece.start_offset, end_offset=piece.end_offset,
            metadata={"spans": [list(span) for span in piece.spans]},
        )  # fmt: skip
