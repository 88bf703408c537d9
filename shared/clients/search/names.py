"""Names in the index that others need."""

VECTOR_FIELD = "embedding"
