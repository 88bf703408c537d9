"""The encoder in its own process: `embedder.EncoderProcess`."""
