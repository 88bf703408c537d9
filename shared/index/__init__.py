"""The search index over all chunks: vectors, text and the fields to filter by."""

from shared.index.definition import VECTOR_FIELD, index_definition
from shared.index.filters import Filters
from shared.index.index import Hit, Index

__all__ = ["VECTOR_FIELD", "Filters", "Hit", "Index", "index_definition"]
