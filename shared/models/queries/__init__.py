"""Every query of Cosmos DB, as named and parameterized values, with one module for each topic."""
