"""The fields of the index `message_embeddings`: definition, payload of a chunk, filters and facets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from shared.core.errors import InvalidIdError
from shared.core.lazy_import import lazy
from shared.documents.threads import Chunk, Thread

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
        fields=[*_fields(), _vector(dimensions)],
        vector_search=models.VectorSearch(
            algorithms=[models.HnswAlgorithmConfiguration(name=_ALGORITHM)],
            profiles=[models.VectorSearchProfile(name=_PROFILE, algorithm_configuration_name=_ALGORITHM)],
        ),
    )


def _fields() -> "list[models.SearchField]":
    return [
        models.SimpleField(name="chunk_id", type=_TEXT, key=True, filterable=True),
        *(
            models.SimpleField(name=name, type=_TEXT, filterable=True)
            for name in ("message_key", "message_id")
        ),
        models.SimpleField(name="thread_id", type=_TEXT, filterable=True),
        models.SimpleField(name="archive_id", type=_TEXT, filterable=True),
        models.SimpleField(name="archive_ids", type=f"Collection({_TEXT})", filterable=True),
        models.SimpleField(name="source", type=_TEXT, filterable=True, facetable=True),
        models.SimpleField(name="chunk_index", type=_NUMBER, filterable=True, sortable=True),
        models.SearchableField(name="text", analyzer_name="en.lucene"),
        models.SimpleField(name="sender", type=_TEXT, filterable=True, facetable=True),
        models.SearchableField(name="sender_name", analyzer_name="standard.lucene", filterable=True),
        models.SimpleField(name="date", type=_DATE, filterable=True, sortable=True, facetable=True),
        models.SearchableField(name="subject", analyzer_name="en.lucene"),
        models.SimpleField(
            name="draft_mentions", type=f"Collection({_TEXT})", filterable=True, facetable=True
        ),
        models.SimpleField(name="token_count", type=_NUMBER, filterable=True),
        models.SimpleField(name="embedding_model", type=_TEXT, filterable=True),
        models.SimpleField(name="embedding_date", type=_DATE, filterable=True, sortable=True),
    ]


def _vector(dimensions: int) -> "models.SearchField":
    return models.SearchField(
        name=VECTOR_FIELD,
        type="Collection(Edm.Single)",
        searchable=True,
        hidden=False,
        vector_search_dimensions=dimensions,
        vector_search_profile_name=_PROFILE,
    )


def archives_of_chunk(chunk: Chunk) -> dict[str, Any]:
    """All the archives that it can be found by."""
    return {"archive_id": chunk.archive_id, "archive_ids": chunk.archive_ids or [chunk.archive_id]}


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
        "sender": chunk.metadata.get("sender"),
        "sender_name": chunk.metadata.get("sender_name"),
        "date": chunk.metadata.get("date"),
        "subject": chunk.metadata.get("subject"),
        "draft_mentions": chunk.metadata.get("draft_mentions", []),
        "token_count": chunk.token_count,
        "embedding_model": model,
        "embedding_date": now,
        VECTOR_FIELD: vector,
    }


# The fields that the index counts; a date is counted by interval.
FACETS = ("source", "sender", "draft_mentions", "date")
INTERVALS = ("day", "week", "month", "quarter", "year")


@dataclass(frozen=True)
class Facet:
    """What to count: the most frequent `count` values of a field, or a date by interval."""

    field: str
    count: int = 10
    interval: str = "month"  # of a date only

    def __post_init__(self) -> None:
        if self.field not in FACETS:
            raise ValueError(f"facet {self.field!r} is not one of: {', '.join(FACETS)}")
        if self.interval not in INTERVALS:
            raise ValueError(f"interval {self.interval!r} is not one of: {', '.join(INTERVALS)}")
        if self.count < 1:
            raise ValueError("a facet has at least one value")

    def option(self) -> str:
        if self.field == "date":
            return f"date,interval:{self.interval}"
        return f"{self.field},count:{self.count}"


@dataclass(frozen=True)
class FacetValue:
    value: str  # of a date: the instant at which its interval begins
    count: int


def facet_options(facets: Iterable[Facet | str]) -> list[str]:
    return [(Facet(facet) if isinstance(facet, str) else facet).option() for facet in facets]


def read_facets(answer: Mapping[str, Sequence[Mapping[str, Any]]] | None) -> dict[str, list[FacetValue]]:
    return {
        field: [FacetValue(str(counted["value"]), int(counted["count"])) for counted in values]
        for field, values in (answer or {}).items()
    }


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

    def to_odata(self) -> str | None:
        terms = [
            f"{name} eq {_quoted(value)}"
            for name in ("thread_id", "message_key", "source", "sender")
            if (value := getattr(self, name)) is not None
        ]
        if self.archive_id is not None:
            terms.append(_of_archive(_quoted(self.archive_id)))
        if self.drafts:
            terms.append(
                f"draft_mentions/any(mention: search.in(mention, {_quoted(','.join(self.drafts))}, ','))"
            )
        if self.since is not None:
            terms.append(f"date ge {_instant(self.since)}")
        if self.until is not None:
            terms.append(f"date lt {_instant(self.until)}")
        return " and ".join(terms) or None


def _of_archive(archive: str) -> str:
    """What was indexed before it could be in several has the first one only."""
    return f"(archive_ids/any(one: one eq {archive}) or archive_id eq {archive})"


def any_of(field: str, values: Sequence[str]) -> str:
    """Documents whose field has one of these values."""
    if any("|" in value for value in values):  # it would be read as two
        raise InvalidIdError("an id with | cannot be looked for among others")
    return f"search.in({field}, {_quoted('|'.join(values))}, '|')"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _instant(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
