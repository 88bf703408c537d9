"""Every query of the container `archives`."""

from shared.documents.queries.named_query import NamedQuery

__all__ = ["ARCHIVES", "ARCHIVES_OF_SOURCE", "LATEST", "PENDING_ARCHIVES", "SOURCE_NAMES"]

SOURCE_NAMES = NamedQuery("source_names", "archives", "SELECT DISTINCT VALUE c.source FROM c")


PENDING_ARCHIVES = NamedQuery(
    "pending_archives", "archives", "SELECT VALUE c.id FROM c WHERE c.status = 'pending' OR c.removing"
)


ARCHIVES_OF_SOURCE = NamedQuery(
    "archives_of_source", "archives", "SELECT VALUE c.id FROM c WHERE c.source = @source"
)


LATEST = NamedQuery(
    "latest_archives",
    "archives",
    "SELECT * FROM c ORDER BY c.ingestion_date DESC, c.id DESC OFFSET 0 LIMIT 100",
)


ARCHIVES = NamedQuery(
    "archives_of_source",
    "archives",
    "SELECT * FROM c WHERE c.source = @source ORDER BY c.ingestion_date DESC OFFSET 0 LIMIT 12",
)
