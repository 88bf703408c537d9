"""Split the text of messages into chunks: `chunker.chunk_body` and `tokens.ModelTokenizer`."""
