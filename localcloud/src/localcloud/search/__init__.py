"""A local Azure AI Search: the wire of the real service over an exact, in-memory engine kept by SQLite."""
