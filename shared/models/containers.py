"""The containers: their partition keys and indexing policies, and how documents are read from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from shared.core.errors import InvalidDocumentError, NewerVersionError
from shared.models.base import Document
from shared.models.edits import Correction, Placement
from shared.models.erasure import Suppression
from shared.models.records import AccessRecord, Audit, FailureRecord, Lock, Run
from shared.models.reports import Digest, Report, Subscription, Summary, TokenAccount
from shared.models.sources import Archive, Operation, Removal, Source
from shared.models.threads import Chunk, Message, Thread

DOCUMENTS: dict[str, type[Document]] = {
    document.container: document
    for document in (
        Source,
        Operation,
        Archive,
        Message,
        Thread,
        Chunk,
        Summary,
        Report,
        FailureRecord,
        Audit,
        Lock,
        TokenAccount,
        Digest,
        Run,
        Removal,
        Correction,
        Placement,
        Subscription,
        AccessRecord,
        Suppression,
    )
}

Model = TypeVar("Model", bound=Document)


@dataclass(frozen=True)
class ContainerSpec:
    """The definition of a container, for the local services and the Bicep."""

    name: str
    partition_path: str
    unindexed: tuple[str, ...] = ()
    unindexed_trees: tuple[str, ...] = ()
    default_ttl: int | None = None
    composite: tuple[tuple[str, ...], ...] = field(default=())

    def indexing_policy(self) -> dict[str, Any]:
        return {
            "indexingMode": "consistent",
            "automatic": True,
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [
                *({"path": f"{path}/?"} for path in self.unindexed),
                *({"path": f"{path}/*"} for path in self.unindexed_trees),
                {"path": '/"_etag"/?'},
            ],
            "compositeIndexes": [[_ordered(path) for path in paths] for paths in self.composite],
        }


def _ordered(path: str) -> dict[str, str]:
    descending = path.startswith("-")
    return {"path": path.lstrip("-"), "order": "descending" if descending else "ascending"}


FAILURES_KEPT_SECONDS = 90 * 24 * 3600
OPERATIONS_KEPT_SECONDS = 7 * 24 * 3600
RUNS_KEPT_SECONDS = 42 * 24 * 3600
BY_DOCUMENT = -1  # no expiry, unless a document has its own ttl

_SWEEP = (
    ("/status", "/lastAttemptTime"),
    ("/status", "/attemptCount", "/lastAttemptTime"),
    ("/status", "/lastAttemptTime", "/created_at"),
)

_LATE = (("/status", "/created_at"),)  # for the count of late documents, every five minutes

CONTAINERS: dict[str, ContainerSpec] = {
    spec.name: spec
    for spec in (
        ContainerSpec("sources", "/id"),
        ContainerSpec("operations", "/id", default_ttl=OPERATIONS_KEPT_SECONDS),
        ContainerSpec(
            "archives",
            "/id",
            composite=(*_SWEEP, *_LATE, ("/source", "-/ingestion_date"), ("-/ingestion_date", "-/id")),
        ),
        ContainerSpec(
            "messages",
            "/pk",
            unindexed=("/body_raw", "/body_normalized", "/body_html", "/hidden_text"),
            unindexed_trees=("/trace", "/copies", "/segments"),
            composite=(*_SWEEP, *_LATE, ("/thread_id", "/date")),
        ),
        ContainerSpec(
            "threads",
            "/pk",
            unindexed_trees=("/threading", "/copies", "/waits", "/threads", "/keys"),
            composite=(
                *_SWEEP,
                ("/has_consensus", "-/last_message_date"),
                ("-/last_message_date", "-/id"),
                ("/last_message_date", "/id"),
                ("-/first_message_date", "-/id"),
                ("-/message_count", "-/id"),
            ),
        ),
        ContainerSpec("locks", "/id"),
        ContainerSpec("token_accounts", "/id"),
        ContainerSpec("digests", "/id"),
        ContainerSpec("removals", "/id"),
        ContainerSpec("runs", "/kind", default_ttl=RUNS_KEPT_SECONDS),
        ContainerSpec(
            "chunks",
            "/pk",
            unindexed=("/text",),
            composite=(*_SWEEP, *_LATE, ("/message_key", "/chunk_index"), ("/message_key", "/id")),
        ),
        ContainerSpec(
            "summaries",
            "/scope",
            unindexed=("/content_markdown", "/content_html"),
            unindexed_trees=("/citations", "/claims", "/stances", "/reading"),
        ),
        ContainerSpec(
            "reports",
            "/scope",
            composite=(
                ("-/published_at", "-/id"),
                ("/published_at", "/id"),
                ("-/last_message_date", "-/id"),
                ("/last_message_date", "/id"),
                ("/source", "-/published_at"),
            ),
        ),
        ContainerSpec("failures", "/stage", unindexed=("/last_error",), default_ttl=FAILURES_KEPT_SECONDS),
        ContainerSpec("audits", "/day"),
        ContainerSpec("corrections", "/message_key", unindexed_trees=("/entries",)),
        ContainerSpec("placements", "/source", unindexed_trees=("/entries",)),
        ContainerSpec("subscriptions", "/address_key", default_ttl=BY_DOCUMENT),
        ContainerSpec("access", "/id", default_ttl=BY_DOCUMENT),
        ContainerSpec("suppressions", "/source", unindexed_trees=("/messages", "/people", "/quotes")),
    )
}


def document_class(container: str) -> type[Document]:
    return DOCUMENTS[container]


def read_document(model: type[Model], stored: dict[str, Any]) -> Model:
    """Return a stored document as its model. Raise NewerVersionError for a newer major version.

    Documents of other apps and rows of some queries have no `created_at`. Then it is the time of the last
    write, if known.
    """
    _refuse_newer(model, stored)
    if "created_at" not in stored:
        stored = {**stored, "created_at": datetime.fromtimestamp(stored.get("_ts", 0), UTC)}
    try:
        return model.model_validate(stored)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "document"
        raise InvalidDocumentError(f"{model.container}/{stored.get('id')}: {where}: {first['msg']}") from None


def _refuse_newer(model: type[Document], stored: Mapping[str, Any]) -> None:
    """Raise NewerVersionError, which is transient, for a newer major version."""
    current, name = model.current_version, f"{model.container}/{stored.get('id')}"
    version = stored.get("schema_version", current)
    if version == current:
        return
    try:
        major, *_ = (int(part) for part in version.split("."))
    except (AttributeError, ValueError):
        raise InvalidDocumentError(f"{name}: {version!r} is not a schema version") from None
    if major > int(current.partition(".")[0]):
        raise NewerVersionError(f"{name}: schema version {version} is newer than this app's {current}")
