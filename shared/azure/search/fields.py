"""The fields of the index `message_embeddings`: definition, payload of a chunk, filters and facets."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from shared.core.errors import InvalidIdError
from shared.core.lazy_import import lazy
from shared.core.times import stored_time
from shared.models.threads import Chunk, Thread

if TYPE_CHECKING:
    from azure.search.documents.indexes import models
else:
    models = lazy("azure.search.documents.indexes.models")

VECTOR_FIELD = "embedding"
_ALGORITHM = "by-similarity"
_PROFILE = "embedding"
_TEXT, _DATE, _NUMBER = "Edm.String", "Edm.DateTimeOffset", "Edm.Int32"


def index_definition(name: str, dimensions: int) -> "models.SearchIndex":
    return models.SearchIndex(
        name=name,
        fields=[
            *_fields(),
            models.SearchField(
                name=VECTOR_FIELD,
                type="Collection(Edm.Single)",
                searchable=True,
                hidden=False,
                vector_search_dimensions=dimensions,
                vector_search_profile_name=_PROFILE,
            ),
        ],
        vector_search=models.VectorSearch(
            algorithms=[models.HnswAlgorithmConfiguration(name=_ALGORITHM)],
            profiles=[models.VectorSearchProfile(name=_PROFILE, algorithm_configuration_name=_ALGORITHM)],
        ),
    )


def _fields() -> "list[models.SearchField]":
    text = partial(models.SimpleField, type=_TEXT, filterable=True)
    texts = partial(models.SimpleField, type=f"Collection({_TEXT})", filterable=True)
    number = partial(models.SimpleField, type=_NUMBER, filterable=True)
    date = partial(models.SimpleField, type=_DATE, filterable=True, sortable=True)
    return [
        text(name="chunk_id", key=True),
        text(name="message_key"),
        text(name="message_id"),
        text(name="thread_id"),
        text(name="archive_id"),
        texts(name="archive_ids"),
        text(name="source", facetable=True),
        number(name="chunk_index", sortable=True),
        models.SearchableField(name="text", analyzer_name="en.lucene"),
        text(name="sender"),
        models.SearchableField(name="sender_name", analyzer_name="standard.lucene", filterable=True),
        text(name="writer", facetable=True),
        texts(name="recipients"),
        models.SearchableField(name="recipient_names", analyzer_name="standard.lucene", collection=True),
        models.SimpleField(name="has_patch", type="Edm.Boolean", filterable=True),
        date(name="date", facetable=True),
        models.SearchableField(name="subject", analyzer_name="en.lucene"),
        texts(name="draft_mentions", facetable=True),
        number(name="token_count"),
        text(name="embedding_model"),
        date(name="embedding_date"),
    ]


def archives_of_chunk(chunk: Chunk) -> dict[str, Any]:
    return {"archive_id": chunk.archive_id, "archive_ids": chunk.archive_ids or [chunk.archive_id]}


def facts_of_chunk(chunk: Chunk) -> dict[str, Any]:
    """Return the fields for sender, recipients, date and subject of the mail."""
    known = chunk.metadata
    name, address = known.get("sender_name") or "", (known.get("sender") or "").lower()
    return {
        "sender": address,
        **{field: known.get(field) for field in ("sender_name", "date", "subject")},
        **{field: known.get(field, []) for field in ("draft_mentions", "recipients", "recipient_names")},
        "writer": writer_of(name, address),
        "has_patch": known.get("has_patch", False),
    }


def writer_of(name: str, address: str) -> str:
    """Return a facet value with name and address, so that a list of senders needs no further search."""
    return f"{name.replace('<', '')[:200]} <{address}>"


def read_writer(writer: str) -> tuple[str, str]:
    name, _, address = writer.rpartition(" <")
    return name, address.removesuffix(">")


def indexed_chunk(
    chunk: Chunk, vector: list[float], thread: Thread | None, model: str, now: str
) -> dict[str, Any]:
    return {
        "chunk_id": chunk.id,
        "message_key": chunk.message_key,
        "message_id": chunk.message_id,
        "thread_id": chunk.thread_id,
        **archives_of_chunk(chunk),
        "source": None if thread is None else thread.source,
        "chunk_index": chunk.chunk_index,
        "text": chunk.text,
        **facts_of_chunk(chunk),
        "token_count": chunk.token_count,
        "embedding_model": model,
        "embedding_date": now,
        VECTOR_FIELD: vector,
    }


@dataclass(frozen=True)
class FacetValue:
    value: str  # for a date: the start of its interval
    count: int


@dataclass(frozen=True)
class Filters:
    thread_id: str | None = None
    message_key: str | None = None
    archive_id: str | None = None
    source: str | None = None
    sender: str | None = None
    drafts: tuple[str, ...] = ()  # any of them
    since: datetime | None = None
    until: datetime | None = None
    sources: tuple[str, ...] | None = None  # only these
    condition: str | None = None  # from the operators of a query

    def to_odata(self) -> str | None:
        terms = [
            f"{name} eq {quoted(value)}"
            for name in ("thread_id", "message_key", "source", "sender")
            if (value := getattr(self, name)) is not None
        ]
        if self.archive_id is not None:
            terms.append(f"archive_ids/any(one: one eq {quoted(self.archive_id)})")
        if self.sources is not None:
            terms.append(any_of("source", self.sources or ("",)))
        if self.drafts:
            terms.append(
                f"draft_mentions/any(mention: search.in(mention, {quoted(','.join(self.drafts))}, ','))"
            )
        if self.since is not None:
            terms.append(f"date ge {instant(self.since)}")
        if self.until is not None:
            terms.append(f"date lt {instant(self.until)}")
        if self.condition is not None:
            terms.append(self.condition)
        return " and ".join(terms) or None


def any_of(field: str, values: Sequence[str]) -> str:
    if any("|" in value for value in values):  # the separator of values
        raise InvalidIdError("an id with | cannot be looked for among others")
    return f"search.in({field}, {quoted('|'.join(values))}, '|')"


def quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def instant(value: datetime) -> str:
    return stored_time(value.astimezone(UTC))
