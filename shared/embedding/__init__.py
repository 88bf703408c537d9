"""Text embedding. The entry point is `factory.open_embedder`, and the design is in docs/embedding.md."""
