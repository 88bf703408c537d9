"""Measure the summaries and the consensus findings against human labels: `make evaluate`."""
