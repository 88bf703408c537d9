"""The documents in Cosmos DB: typed, versioned, with deterministic ids."""

from shared.documents.base import Document
from shared.documents.catalogue import CONTAINERS, DOCUMENTS, ContainerSpec, document_class, read_document
from shared.documents.models import (
    Address,
    Archive,
    ArchiveStatus,
    Attachment,
    Chunk,
    Citation,
    ConsensusType,
    Failure,
    Lock,
    Message,
    Report,
    Source,
    Status,
    Summary,
    SummaryType,
    Thread,
    ThreadEntry,
)

__all__ = [
    "CONTAINERS",
    "DOCUMENTS",
    "Address",
    "Archive",
    "ArchiveStatus",
    "Attachment",
    "Chunk",
    "Citation",
    "ConsensusType",
    "ContainerSpec",
    "Document",
    "Failure",
    "Lock",
    "Message",
    "Report",
    "Source",
    "Status",
    "Summary",
    "SummaryType",
    "Thread",
    "ThreadEntry",
    "document_class",
    "read_document",
]
