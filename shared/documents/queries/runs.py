"""Every query of the container `runs`."""

from shared.documents.queries.named_query import ONE, NamedQuery

LATEST_RUN = NamedQuery(
    "latest_run",
    "runs",
    "SELECT TOP 1 * FROM c WHERE c.dry_run = false AND c.status != 'running' ORDER BY c.started_at DESC",
    ONE,
)

LATEST_START = NamedQuery(
    "latest_start",
    "runs",
    "SELECT TOP 1 c.started_at FROM c WHERE c.requested_by = @requested_by ORDER BY c.started_at DESC",
    ONE,
)
