"""From an upload or a source to a stored archive, its document, and the event that announces it."""

from shared.ingestion.storing import Incoming, Stored, store_archive

__all__ = ["Incoming", "Stored", "store_archive"]
