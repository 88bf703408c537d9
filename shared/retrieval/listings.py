"""The lists that readers can page through: reports, threads, chunks."""

from typing import Literal

from shared.documents.threads import Thread
from shared.retrieval.listing import Listing

__all__ = ["CHUNKS", "REPORTS", "THREADS", "ConsensusFilter"]

ConsensusFilter = Literal["agreement", "dissent", "mixed", "none"]


REPORTS = Listing(
    "reports",
    "reports",
    clauses={
        "source": "c.source = @source",
        "thread": "(c.thread_id = @thread OR ARRAY_CONTAINS(c.thread_ids, @thread))",
        "draft": "ARRAY_CONTAINS(c.draft_mentions, @draft)",
        "since": "c.last_message_date >= @since",
        "until": "c.last_message_date < @until",
        "participant": (
            "EXISTS(SELECT VALUE p FROM p IN c.participants"
            " WHERE p.email = LOWER(@participant) OR STRINGEQUALS(p.name, @participant, true))"
        ),
        "consensus": "(c.consensus_type = @consensus OR (@consensus = 'none' AND IS_NULL(c.consensus_type)))",
        "type": "c.summary_type = @type",
        "digests": "c.summary_type IN ('weekly', 'consensus')",
        "current": "c.outdated = false",
    },
    sorts=("-published_at", "published_at", "-last_message_date", "last_message_date"),
)


THREADS = Listing(
    "threads",
    "threads",
    always="IS_NULL(c.merged_into)",
    clauses={
        "source": "ARRAY_CONTAINS(c.sources, @source)",
        "archive": "ARRAY_CONTAINS(c.archive_ids, @archive)",
        # A thread has drafts as they were written, with their versions.
        "draft": (
            "EXISTS(SELECT VALUE d FROM d IN c.draft_mentions WHERE d = @draft"
            " OR (STARTSWITH(d, CONCAT(@draft, '-')) AND LENGTH(d) = LENGTH(@draft) + 3"
            " AND REGEXMATCH(d, '-[0-9][0-9]$')))"
        ),
        "since": "c.last_message_date >= @since",
        "until": "c.last_message_date < @until",
        "participant": (
            "EXISTS(SELECT VALUE p FROM p IN c.participants"
            " WHERE p.email = LOWER(@participant) OR STRINGEQUALS(p.name, @participant, true))"
        ),
        "consensus": "(c.consensus_type = @consensus OR (@consensus = 'none' AND IS_NULL(c.consensus_type)))",
        "status": "c.status = @status",
    },
    sorts=("-last_message_date", "last_message_date"),
    # Without what threading keeps, which can be large.
    fields=tuple(name for name in Thread.model_fields if name not in {"threading", "absorbing", "etag"}),
)


CHUNKS = Listing(
    "chunks",
    "chunks",
    clauses={"thread": "c.thread_id = @thread", "message": "c.message_key = @message"},
    sorts=("message_key",),
)
