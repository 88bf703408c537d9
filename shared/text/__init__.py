"""Text: the embedding model's tokens, sentences, chunks. Pure: no I/O but reading the tokenizer's file."""
