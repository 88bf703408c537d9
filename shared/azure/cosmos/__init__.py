"""Cosmos DB: `store.Store` reads and writes documents, and `lease.Lease` locks a name across processes."""
