"""Every query of the container `messages`."""

from shared.documents.queries.conditions import NO_FENCE, OF_ARCHIVE
from shared.documents.queries.named_query import ALL, ONE, NamedQuery

MESSAGES_TO_CHECK = NamedQuery(
    "held_messages",
    "messages",
    "SELECT c.id, c.status, c.archive_id, c.attemptCount, LENGTH(c.body_normalized) AS length, c._ts FROM c"
    " WHERE c.thread_id = @partition_value",
    ONE,
)

ALL_MESSAGE_THREADS = NamedQuery(
    "message_homes",
    "messages",
    f"SELECT c.id, c.thread_id, c._ts FROM c WHERE c._ts <= @before AND {NO_FENCE}",
    ALL,
)

MESSAGES_OF_THREAD = NamedQuery(
    "messages_of_thread",
    "messages",
    "SELECT * FROM c WHERE c.thread_id = @partition_value ORDER BY c.date",
    ONE,
)

MESSAGE_STATES = NamedQuery(
    "message_states",
    "messages",
    "SELECT c.id, c.status, c.variant, c.conflicts FROM c WHERE c.thread_id = @partition_value",
    ONE,
)

MESSAGE_DATES = NamedQuery(
    "message_dates",
    "messages",
    "SELECT c.date FROM c WHERE c.thread_id = @partition_value AND NOT IS_NULL(c.date)",
    ONE,
)

COUNT_OF_MESSAGES_WITHIN = NamedQuery(
    "messages_within",
    "messages",
    "SELECT VALUE COUNT(1) FROM c"
    " WHERE c.thread_id = @partition_value AND c.date >= @start AND c.date < @end",
    ONE,
)

STORED_VARIANTS = NamedQuery(
    "stored_variants",
    "messages",
    "SELECT c.id, c.thread_id, c.variant, c.archive_ids FROM c WHERE ARRAY_CONTAINS(@ids, c.id)",
    ALL,
)

STORED_COPIES = NamedQuery(
    "stored_copies",
    "messages",
    "SELECT c.id, c.post_id, c.message_id, c.source, c.sources, c.thread_id, c.created_at, c.archive_id,"
    " c.archive_ids, c.place, c.copies, c.elsewhere, c.conflicts, c.variant, c.identity FROM c"
    " WHERE ARRAY_CONTAINS(@ids, c.post_id)",
    ALL,
)

MEMBER_FACTS = NamedQuery(
    "member_facts",
    "messages",
    'SELECT c.id, c.message_id, c.subject, c["from"], c.date, c.archive_ids, c.draft_mentions FROM c'
    " WHERE c.thread_id = @partition_value",
    ONE,
)

MESSAGES_WITH_ID = NamedQuery(
    "messages_with_id",
    "messages",
    "SELECT TOP 20 * FROM c WHERE ARRAY_CONTAINS(@message_ids, c.message_id)",
    ALL,
)

MESSAGES_AND_ANSWERS_OF_OTHER_LISTS = NamedQuery(
    "messages_and_answers",
    "messages",
    "SELECT * FROM c WHERE c.thread_id = @thread"
    " OR (ARRAY_CONTAINS(@ids, c.in_reply_to) AND c.source != @source)",
    ALL,
)

THREADS_OF_MESSAGES = NamedQuery(
    "threads_of_messages", "messages", "SELECT c.id, c.thread_id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)", ALL
)

MESSAGE_THREADS_OF_ARCHIVE = NamedQuery(
    "message_threads", "messages", f"SELECT VALUE c.thread_id FROM c WHERE {OF_ARCHIVE}", ALL
)

MESSAGES_OF_ARCHIVE = NamedQuery(
    "messages_of_archive",
    "messages",
    f"SELECT c.id, c.thread_id, c.copies FROM c WHERE {OF_ARCHIVE}",
    ALL,
)

MESSAGE_ARCHIVES = NamedQuery(
    "message_archives",
    "messages",
    f"SELECT c.id, c.thread_id, c.archive_id, c.archive_ids FROM c WHERE c._ts <= @before AND {NO_FENCE}",
    ALL,
)

MESSAGE_ARCHIVES_OF_THREAD = NamedQuery(
    "message_places",
    "messages",
    "SELECT c.id, c.post_id, c.source, c.archive_id, c.archive_ids, c.variant, c.copies, c.elsewhere FROM c"
    " WHERE c.thread_id = @partition_value",
    ONE,
)
