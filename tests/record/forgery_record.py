"""An in-memory record of archives: canonical messages, threads and readings, by the app's own rules."""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any

from shared.core.times import stored_time
from shared.mail.models import ParsedMail
from shared.mail.parse import parse_archive
from shared.models.containers import read_document
from shared.models.readings import StoredReading
from shared.models.threads import Message, Thread
from shared.models.values import SourceProfile, ThreadReading
from shared.reading.linked_thread import People
from shared.reading.mails import ThreadMail
from shared.reading.reader import read_thread
from shared.summarization.record_flags import marked_claims, message_marks, record_flags, sender_marks
from shared.summarization.thread_context import mails_of
from shared.thread_store.message_documents import (
    ArchiveOfSource,
    IncomingMessage,
    incoming_messages,
    parsed_mail,
    provenance,
    raw_message,
)
from shared.thread_store.message_writer import cross_post_changes
from shared.thread_store.thread_documents import facts_of_thread
from shared.threading.assignment import ThreadState
from shared.threading.opening import opening_of
from shared.threading.prepared_message import PreparedMessage, prepare_message
from tests.support.documents import CREATED
from tests.support.threads import InMemoryThreads, assign

ARRIVED = datetime(2026, 3, 5, tzinfo=UTC)
"""After the tests' messages, which are from January and February 2026."""


@dataclass
class ReadThread:
    thread: Thread
    messages: dict[str, Message]
    profile: SourceProfile

    @cached_property
    def _mails(self) -> list[ThreadMail]:
        return mails_of(self.thread, list(self.messages.values()), self.profile)

    @cached_property
    def reading(self) -> ThreadReading:
        return read_thread(self._mails, self.profile)

    @cached_property
    def _senders(self) -> dict[str, tuple[str, ...]]:
        return sender_marks(self.reading, self._mails, People(self._mails, self.profile))

    @cached_property
    def flags(self) -> dict[str, int]:
        return record_flags(self.thread, list(self.messages.values()), self._senders)

    @cached_property
    def stored(self) -> StoredReading:
        """Return the reading in its stored form, with the marks of its claims."""
        odd = message_marks(self.thread, list(self.messages.values()))
        marks = {id_: (*self._senders.get(id_, ()), *odd.get(id_, ())) for id_ in self._senders | odd}
        return marked_claims(StoredReading.of(self.reading), marks)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Return the thread document's facts about its messages."""
        found = [message.model_dump(mode="json", by_alias=True) for message in self.messages.values()]
        return facts_of_thread(found, opening_of(ThreadState.from_document(self.thread.threading)))


@lru_cache(maxsize=64)
def _prepared(content: bytes) -> tuple[PreparedMessage, ...]:
    mails = [mail for mail in parse_archive(io.BytesIO(content)) if isinstance(mail, ParsedMail)]
    assert mails
    return tuple(map(prepare_message, mails))


class InMemoryRecord:
    """A record that takes archives one after the other, each for its source."""

    def __init__(self, profiles: Mapping[str, SourceProfile]) -> None:
        self._profiles = profiles
        self._stored: dict[str, dict[str, Any]] = {}
        self._count = 0

    def take_in(self, source: str, content: bytes, arrived: str | None = None) -> None:
        """Parse the archive now. `arrived` is the time when the source got it, if that was earlier."""
        self._count += 1
        at = arrived or stored_time(ARRIVED + timedelta(minutes=self._count))
        archive = ArchiveOfSource(hashlib.sha256(content).hexdigest()[:16], source, at)
        for mail in incoming_messages(_prepared(content), archive).values():
            self._take(mail)

    def _take(self, mail: IncomingMessage) -> None:
        source, before = mail.archive.source, self._stored.get(mail.key)
        copies = mail.copies_with(before["copies"] if before else [])
        archives = {*(before["archive_ids"] if before else ()), mail.archive.id}
        if before is None or mail.is_first(copies):
            labels = provenance(source, copies, archives, [])
            self._stored[mail.key] = raw_message(mail, "-", stored_time(CREATED), labels).stored
        else:
            self._stored[mail.key] |= provenance(source, copies, archives, [])
        post = mail.message.document["id"]
        group = [row for row in self._stored.values() if row["post_id"] == post]
        for row in group:
            row.update(
                cross_post_changes(row, [other for other in group if other["source"] != row["source"]])
            )

    def messages(self, source: str) -> list[Message]:
        own = [row for row in self._stored.values() if row["source"] == source]
        return [
            read_document(Message, row) for row in sorted(own, key=lambda row: (row["date"] or "", row["id"]))
        ]

    def threads(self, source: str) -> dict[str, ReadThread]:
        messages = {message.message_id: message for message in self.messages(source)}
        result = assign([parsed_mail(message) for message in messages.values()], InMemoryThreads(), source)
        return {
            name: self._thread(name, state, messages, self._profiles.get(source, SourceProfile()))
            for name, state in result.threads.items()
        }

    def _thread(
        self, name: str, state: ThreadState, messages: Mapping[str, Message], profile: SourceProfile
    ) -> ReadThread:
        members = {node: message for node, message in messages.items() if node in state.members}
        thread = Thread(
            id=name, thread_id=name, root_message_id=state.root, archive_id="-", created_at=CREATED,
            threading=state.to_document(),
        )  # fmt: skip
        return ReadThread(thread, members, profile)
