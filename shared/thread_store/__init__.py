"""Threads across archives, kept in Cosmos DB."""
