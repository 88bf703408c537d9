"""The queries of exports: all documents of a container, and all documents of one archive."""

from shared.models.containers import CONTAINERS
from shared.models.queries.named_query import ContainerQueries

EVERYTHING = {name: ContainerQueries(name).all(f"export_{name}", "SELECT * FROM c") for name in CONTAINERS}

OF_ARCHIVE = (
    ContainerQueries("archives").all("export_archive", "SELECT * FROM c WHERE c.id = @archive"),
    ContainerQueries("messages").all(
        "export_messages_of_archive", "SELECT * FROM c WHERE ARRAY_CONTAINS(c.archive_ids, @archive)"
    ),
    ContainerQueries("chunks").all(
        "export_chunks_of_archive", "SELECT * FROM c WHERE ARRAY_CONTAINS(c.archive_ids, @archive)"
    ),
    ContainerQueries("failures").all(
        "export_failures_of_archive", "SELECT * FROM c WHERE c.original_event.data.archive_id = @archive"
    ),
)

OF_THREAD = tuple(
    ContainerQueries(name).all(f"export_{name}_of_thread", f"SELECT * FROM c WHERE c.{field} = @thread")
    for name, field in (("threads", "id"), ("summaries", "thread_id"), ("reports", "thread_id"))
)
