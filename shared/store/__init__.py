"""Cosmos DB, as the stages use it."""

from shared.store.batches import Patch, Ready
from shared.store.queries import NamedQuery
from shared.store.store import Conflict, Store

__all__ = ["Conflict", "NamedQuery", "Patch", "Ready", "Store"]
