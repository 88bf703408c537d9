"""Texts to vectors. A stage starts at `factory.open_embedder`; docs/embedding.md tells the rest."""
