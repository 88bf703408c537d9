"""The documents in Cosmos DB: models, containers and queries, with deterministic ids.

`containers.read_document` reads a stored document. `queries` has every query by name.
"""
