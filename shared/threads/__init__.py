"""Threads across archives, kept in Cosmos DB."""

from shared.threads.lease import Lease, LeaseTakenError
from shared.threads.moving import follow_merge, resolve_thread
from shared.threads.registry import Registry, Threaded

__all__ = ["Lease", "LeaseTakenError", "Registry", "Threaded", "follow_merge", "resolve_thread"]
