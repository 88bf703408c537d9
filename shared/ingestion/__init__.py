"""Ingestion: fetch or receive an archive, check it, store its file and document, and publish its event."""
