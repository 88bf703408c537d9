"""A local Cosmos DB account (NoSQL API): an engine over SQLite behind a thin HTTP server."""
