"""How good the summaries and the consensus findings are, measured against people: `make evaluate`."""
