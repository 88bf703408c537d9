"""What operators do to dead letters, and how each says that it is done."""

REQUEUE, PURGE, RESTORE = "dlq.requeue", "dlq.purge", "dlq.restore"
RESOLVE, EDIT = "dlq.resolve", "dlq.edit"
DELETE = "dlq.delete"  # with the archive that they are about: nothing of them is kept
DONE_WORD = {
    REQUEUE: "requeued", PURGE: "purged", RESTORE: "restored", RESOLVE: "resolved", EDIT: "edited",
    DELETE: "deleted",
}  # fmt: skip
RESTORABLE = frozenset({PURGE, RESOLVE, EDIT})  # they archive what they take out
