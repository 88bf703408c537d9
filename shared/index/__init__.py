"""The search index over all chunks: vectors, text and the fields to filter by."""

from shared.index.definition import VECTOR_FIELD, index_definition
from shared.index.facets import FACETS, Facet, FacetValue
from shared.index.filters import Filters
from shared.index.index import Hit, Hits, Index

__all__ = [
    "FACETS",
    "VECTOR_FIELD",
    "Facet",
    "FacetValue",
    "Filters",
    "Hit",
    "Hits",
    "Index",
    "index_definition",
]
