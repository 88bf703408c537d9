"""A local Azure AI Search: the real service's API over an exact in-memory engine, persisted in SQLite."""
