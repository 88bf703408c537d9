"""AI Search: `index.Index` stores and searches vectors, and `versions` switches between models."""
