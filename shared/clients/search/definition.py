"""The index `message_embeddings`: the payload that R-212 lists, each field with what it is for."""

from azure.search.documents.indexes.models import (
    HnswAlgorithmConfiguration,
    SearchableField,
    SearchField,
    SearchIndex,
    SimpleField,
    VectorSearch,
    VectorSearchProfile,
)

from shared.clients.search.names import VECTOR_FIELD

_ALGORITHM = "by-similarity"
_PROFILE = "embedding"
_TEXT, _DATE, _NUMBER = "Edm.String", "Edm.DateTimeOffset", "Edm.Int32"


def index_definition(name: str, dimensions: int) -> SearchIndex:
    return SearchIndex(
        name=name,
        fields=[*_fields(), _vector(dimensions)],
        vector_search=VectorSearch(
            algorithms=[HnswAlgorithmConfiguration(name=_ALGORITHM)],
            profiles=[VectorSearchProfile(name=_PROFILE, algorithm_configuration_name=_ALGORITHM)],
        ),
    )


def _fields() -> list[SearchField]:
    return [
        SimpleField(name="chunk_id", type=_TEXT, key=True, filterable=True),
        *(SimpleField(name=name, type=_TEXT, filterable=True) for name in ("message_key", "message_id")),
        SimpleField(name="thread_id", type=_TEXT, filterable=True),
        SimpleField(name="archive_id", type=_TEXT, filterable=True),
        SimpleField(name="archive_ids", type=f"Collection({_TEXT})", filterable=True),
        SimpleField(name="source", type=_TEXT, filterable=True, facetable=True),
        SimpleField(name="chunk_index", type=_NUMBER, filterable=True, sortable=True),
        SearchableField(name="text", analyzer_name="en.lucene"),
        SimpleField(name="sender", type=_TEXT, filterable=True, facetable=True),
        SearchableField(name="sender_name", analyzer_name="standard.lucene", filterable=True),
        SimpleField(name="date", type=_DATE, filterable=True, sortable=True, facetable=True),
        SearchableField(name="subject", analyzer_name="en.lucene"),
        SimpleField(name="draft_mentions", type=f"Collection({_TEXT})", filterable=True, facetable=True),
        SimpleField(name="token_count", type=_NUMBER, filterable=True),
        SimpleField(name="embedding_model", type=_TEXT, filterable=True),
        SimpleField(name="embedding_date", type=_DATE, filterable=True, sortable=True),
    ]


def _vector(dimensions: int) -> SearchField:
    return SearchField(
        name=VECTOR_FIELD,
        type="Collection(Edm.Single)",
        searchable=True,
        hidden=False,
        vector_search_dimensions=dimensions,
        vector_search_profile_name=_PROFILE,
    )
