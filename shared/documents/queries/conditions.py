"""Conditions that several queries share. `c` is the document."""

from shared.documents.messages import FENCE

NO_FENCE = f"c.id != '{FENCE}'"  # where a query asks for no field that a fence has not

OPEN = "c.status IN ('pending', 'processing')"  # we never write "processing", yet read it
PROCESSED = "c.status = 'processed'"
GIVEN_UP = "c.status = 'failed_max_retries'"

# Of the last attempt: it is known to have failed, nothing was heard of it, or there was none.
FAILED = "IS_STRING(c.lastError) AND NOT IS_STRING(c.requeued_at)"
SILENT = "(NOT IS_STRING(c.lastError) OR IS_STRING(c.requeued_at))"
NEVER = "(NOT IS_DEFINED(c.lastAttemptTime) OR IS_NULL(c.lastAttemptTime))"
STUCK = f"c.lastAttemptTime <= @old OR ({NEVER} AND c.created_at <= @old) OR c.requeued_at <= @old"

# Documents of before an archive could be one of several have no archive_ids.
OF_ARCHIVE = "(c.archive_id = @archive OR ARRAY_CONTAINS(c.archive_ids, @archive))"
ABOUT_THREAD = "(c.scope = @thread OR ARRAY_CONTAINS(c.thread_ids, @thread))"
