"""The sweep: what got stuck is asked for again, with backoff, and given up in the end."""

from shared.sweep.collections import COLLECTIONS, Collection, Due, Why
from shared.sweep.due import count_documents, due_documents
from shared.sweep.policy import Policy, interval_schedule
from shared.sweep.run import Options, SweepFailedError, latest_run, sweep

__all__ = [
    "COLLECTIONS",
    "Collection",
    "Due",
    "Options",
    "Policy",
    "SweepFailedError",
    "Why",
    "count_documents",
    "due_documents",
    "interval_schedule",
    "latest_run",
    "sweep",
]
