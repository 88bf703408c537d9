"""The documents in Cosmos DB: typed, versioned, with deterministic ids."""
