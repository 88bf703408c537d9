"""Every change of a stored document's state, as a named function with its precondition.

No other package writes `status`, the attempt fields, `embedding_generated`, the ids of a thread's summary and
report, its requested version, or `outdated` (tests/pipeline/lifecycle/test_only_home.py). The conditions of
the patches are the concurrency control of the pipeline.
"""

from typing import NamedTuple

NEW = "[*]"
STORED = "stored"


class Transition(NamedTuple):
    document: str
    name: str
    """The lifecycle function, or `stored` where the document is new."""
    before: str
    after: str


PENDING, PROCESSED, FAILED, GIVEN_UP = "pending", "processed", "failed", "failed_max_retries"
# A thread's status alone does not tell how far its summary is.
WAITING, CLAIMED, REQUESTED = "waiting", "claimed", "requested"
SUMMARIZED, REPORTED, MERGED = "summarized", "reported", "merged"

SUBSTATES = {PENDING: (WAITING, CLAIMED, REQUESTED), PROCESSED: (SUMMARIZED, REPORTED)}
"""Of a thread: each transition from the whole may start in any of them."""


def _attempts(document: str) -> tuple[Transition, ...]:
    """What holds for every document that the sweep looks after."""
    return (
        Transition(document, "attempt_failed", PENDING, PENDING),
        Transition(document, "requeue_counted", PENDING, PENDING),
        Transition(document, "requeue_uncounted", PENDING, PENDING),
        Transition(document, "given_up", PENDING, GIVEN_UP),
        Transition(document, "reset", PENDING, PENDING),
        Transition(document, "reset", GIVEN_UP, PENDING),
        Transition(document, "reopened", PROCESSED, PENDING),
    )


TRANSITIONS = (
    Transition("archive", STORED, NEW, PENDING),
    Transition("archive", "attempt_counted", PENDING, PENDING),
    Transition("archive", "requeue_recorded", PENDING, PENDING),
    Transition("archive", "archive_processed", PENDING, PROCESSED),
    Transition("archive", "attempt_failed", PENDING, FAILED),
    Transition("archive", "reset", FAILED, PENDING),
    *_attempts("archive"),
    Transition("message", STORED, NEW, PENDING),
    Transition("message", "requeue_recorded", PENDING, PENDING),
    Transition("message", "messages_processed", PENDING, PROCESSED),
    Transition("message", "messages_reset", PROCESSED, PENDING),
    *_attempts("message"),
    Transition("chunk", STORED, NEW, PENDING),
    Transition("chunk", "requeue_recorded", PENDING, PENDING),
    Transition("chunk", "chunk_embedded", PENDING, PROCESSED),
    Transition("chunk", "chunk_given_up", PENDING, GIVEN_UP),
    Transition("chunk", "chunks_recovered", PROCESSED, PROCESSED),
    Transition("chunk", "chunk_reembedded", PROCESSED, PROCESSED),
    Transition("chunk", "chunk_relabelled", PROCESSED, PENDING),
    Transition("chunk", "chunks_reset", PROCESSED, PENDING),
    *_attempts("chunk"),
    Transition("thread", STORED, NEW, WAITING),
    Transition("thread", "attempt_counted", PENDING, PENDING),
    Transition("thread", "thread_claimed", WAITING, CLAIMED),
    Transition("thread", "thread_claimed", PROCESSED, CLAIMED),
    Transition("thread", "thread_claimed", GIVEN_UP, CLAIMED),
    Transition("thread", "summary_requested", CLAIMED, REQUESTED),
    Transition("thread", "requeue_counted", PENDING, REQUESTED),
    Transition("thread", "requeue_recorded", PENDING, PENDING),
    Transition("thread", "thread_summarized", PENDING, SUMMARIZED),
    Transition("thread", "thread_reported", SUMMARIZED, REPORTED),
    Transition("thread", "report_missing", SUMMARIZED, PENDING),
    Transition("thread", "thread_changed", PROCESSED, PENDING),
    Transition("thread", "thread_changed", GIVEN_UP, PENDING),
    Transition("thread", "thread_merged", PENDING, MERGED),
    Transition("thread", "thread_merged", PROCESSED, MERGED),
    Transition("thread", "thread_merged", GIVEN_UP, MERGED),
    Transition("thread", "merge_finished", PENDING, PENDING),
    *_attempts("thread"),
)
