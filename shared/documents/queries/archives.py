"""Every query of the container `archives`."""

from shared.documents.queries.conditions import FOR_READERS
from shared.documents.queries.list_query import ListQuery
from shared.documents.queries.named_query import ALL, NamedQuery

SOURCE_NAMES = NamedQuery(
    "source_names", "archives", f"SELECT DISTINCT VALUE c.source FROM c WHERE {FOR_READERS}", ALL
)

PENDING_ARCHIVE_IDS = NamedQuery(
    "pending_archives", "archives", "SELECT VALUE c.id FROM c WHERE c.status = 'pending' OR c.removing", ALL
)

ALL_ARCHIVE_IDS = NamedQuery("all_archives", "archives", "SELECT VALUE c.id FROM c", ALL)

SOURCES_IN_FLIGHT = NamedQuery(
    "sources_in_flight",
    "archives",
    "SELECT DISTINCT VALUE c.source FROM c WHERE c.status = 'pending' OR c.removing",
    ALL,
)

ARCHIVE_IDS_OF_SOURCE = NamedQuery(
    "archives_of_source", "archives", "SELECT VALUE c.id FROM c WHERE c.source = @source", ALL
)

OLDEST_ARCHIVE_TIME = NamedQuery(
    "oldest_archive_time",
    "archives",
    "SELECT TOP 1 VALUE c.created_at FROM c ORDER BY c.created_at",
    ALL,
)

LATEST_ARCHIVES = NamedQuery(
    "latest_archives",
    "archives",
    f"SELECT * FROM c WHERE {FOR_READERS} ORDER BY c.ingestion_date DESC, c.id DESC OFFSET 0 LIMIT 100",
    ALL,
)

LATEST_ARCHIVES_OF_SOURCE = NamedQuery(
    "latest_archives_of_source",
    "archives",
    "SELECT * FROM c WHERE c.source = @source ORDER BY c.ingestion_date DESC OFFSET 0 LIMIT 12",
    ALL,
)

ARCHIVE_LIST = ListQuery(
    "archives",
    "archives",
    always=FOR_READERS,
    filters={"source": "c.source = @source", "status": "c.status = @status"},
    sorts=("-ingestion_date",),
)
