"""Every query of the container `subscriptions`, and what its digests are made of."""

from shared.documents.queries.named_query import ALL, ONE, NamedQuery
from shared.documents.subscriptions import TopicKind

DUE_SUBSCRIPTIONS = NamedQuery(
    "due_subscriptions",
    "subscriptions",
    "SELECT c.id, c.address_key FROM c WHERE c.next_due_at <= @now ORDER BY c.next_due_at"
    " OFFSET 0 LIMIT @limit",
    ALL,
)

SUBSCRIPTIONS_OF_ADDRESS = NamedQuery(
    "subscriptions_of_address", "subscriptions", "SELECT c.id, c.confirmed_at FROM c", ONE
)

LATELY_ASKED = NamedQuery(
    "lately_asked", "subscriptions", "SELECT VALUE COUNT(1) FROM c WHERE c.asked_at > @after", ALL
)

_ABOUT = {
    TopicKind.SOURCES: "c.source = @name",
    TopicKind.DRAFTS: "ARRAY_CONTAINS(c.draft_mentions, @name)",
    TopicKind.PEOPLE: "ARRAY_CONTAINS(c.person_ids, @name)",
    TopicKind.THREADS: "c.thread_id = @name",
}

PUBLISHED_ABOUT = {
    kind: NamedQuery(
        f"published_about_{kind}",
        "reports",
        "SELECT c.id, c.title, c.thread_id, c.source, c.outcome, c.threads, c.published_at,"
        f" c.last_message_date FROM c WHERE {about} AND c.published_at > @since AND c.published_at <= @until"
        " AND c.outdated = false"
        " ORDER BY c.published_at DESC OFFSET 0 LIMIT @limit",
        ALL,
    )
    for kind, about in _ABOUT.items()
}
