"""Threads, and the entries of the index that says in which thread a message is."""

from typing import Any

from pydantic import Field

from shared.documents.base import Document, ProcessingStatus, SharedPartitionDocument, UtcTime
from shared.documents.messages import Address
from shared.documents.readings import ShownOpenCall, ShownOutcome
from shared.documents.values import ConsensusType, Genre


class Thread(SharedPartitionDocument):
    container = "threads"
    shared_partitions = 8
    key_field = "thread_id"

    thread_id: str
    root_message_id: str
    archive_id: str
    archive_ids: list[str] = []
    source: str | None = None
    sources: list[str] = []
    subject: str = ""
    participants: list[Address] = []
    message_count: int = Field(default=0, ge=0)
    first_message_date: UtcTime | None = None
    last_message_date: UtcTime | None = None
    draft_mentions: list[str] = []
    has_consensus: bool = False
    consensus_type: ConsensusType | None = None
    outcome: ShownOutcome | None = None  # of the summary
    open_call: ShownOpenCall | None = None  # likewise
    flags: dict[str, int] = {}  # of the summary, likewise
    summary_id: str | None = None
    content_hash: str | None = None  # the version that a summary was last asked for
    requesting: dict[str, Any] | None = None  # the version that an event is about to ask for (orchestration)
    edition: str | None = None  # the operation that last had it read anew, though nothing in it had changed
    corrections: int = 0  # how often people have corrected what is said of it, or revoked that
    report_id: str | None = None  # the last report, of the summary that was the thread's then
    subject_at: UtcTime | None = None  # the date of the message that gave the subject: the earliest wins
    threading: dict[
        str, Any
    ] = {}  # what is kept to thread further messages (shared/domain/threading/assignment.py)
    vote_subject: str | None = None  # of a thread that calls a vote, or brings a result: what it is about
    vote_thread: str | None = None  # it brings the result of this vote
    result_thread: str | None = None  # it is a vote, and its summary was made with the result in this thread
    absorbing: list[str] = []  # threads that became this one, whose documents still have to follow
    losing: list[str] = []  # threads that some of its messages still have to go to: it waits for that
    merged_into: str | None = None  # set on a thread that is another one now
    status: ProcessingStatus = ProcessingStatus.PENDING

    @property
    def genre(self) -> Genre | None:
        return self.outcome.genre if self.outcome else None


class ThreadEntry(Document):
    """Where to find the threads that know a message id, or have a subject: many small documents."""

    container = "thread_index"
    partition_field = "bucket"

    bucket: str
    threads: dict[str, list[int]] = {}  # thread id to the first and last time it counts for, where it has
