"""Summarize stored threads and digests: `summarizers.summarizer_for` and `digests.refresh_due`."""
