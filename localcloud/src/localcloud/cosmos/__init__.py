"""A local Cosmos DB account (NoSQL API): an engine over SQLite under a thin HTTP server."""
