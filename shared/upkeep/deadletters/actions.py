"""What operators do to dead letters, and how each says that it is done."""

REQUEUE, PURGE, RESTORE, RESOLVE = "dlq.requeue", "dlq.purge", "dlq.restore", "dlq.resolve"
DELETE = "dlq.delete"  # with the archive that they are about: nothing of them is kept
DONE_WORD = {
    REQUEUE: "requeued",
    PURGE: "purged",
    RESTORE: "restored",
    RESOLVE: "resolved",
    DELETE: "deleted",
}
RESTORABLE = frozenset({PURGE, RESOLVE})  # they archive what they take out
