"""Names in the index that others need."""

__all__ = ["VECTOR_FIELD"]

VECTOR_FIELD = "embedding"
