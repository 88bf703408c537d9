"""The search index over all chunks: vectors, text and the fields to filter by."""

from shared.index.facets import FACETS, Facet, FacetValue
from shared.index.filters import Filters
from shared.index.index import Hit, Hits, Index
from shared.index.names import VECTOR_FIELD

__all__ = [
    "FACETS",
    "VECTOR_FIELD",
    "Facet",
    "FacetValue",
    "Filters",
    "Hit",
    "Hits",
    "Index",
]
