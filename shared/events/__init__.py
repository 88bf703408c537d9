"""The events between the stages: the envelope, the catalogue of fourteen, and splitting."""

from shared.events.catalogue import CATALOGUE, STAGE_OF, event_class
from shared.events.data import (
    ArchiveIngested,
    ArchiveIngestionFailed,
    ChunkingFailed,
    ChunksPrepared,
    EmbeddingGenerationFailed,
    EmbeddingsGenerated,
    EventData,
    JSONParsed,
    OrchestrationFailed,
    ParsingFailed,
    ReportDeliveryFailed,
    ReportPublished,
    SummarizationFailed,
    SummarizationRequested,
    SummaryComplete,
)
from shared.events.envelope import Event, parse_event
from shared.events.splitting import MAX_EVENT_BYTES, EventTooLargeError, split_to_fit

__all__ = [
    "CATALOGUE",
    "MAX_EVENT_BYTES",
    "STAGE_OF",
    "ArchiveIngested",
    "ArchiveIngestionFailed",
    "ChunkingFailed",
    "ChunksPrepared",
    "EmbeddingGenerationFailed",
    "EmbeddingsGenerated",
    "Event",
    "EventData",
    "EventTooLargeError",
    "JSONParsed",
    "OrchestrationFailed",
    "ParsingFailed",
    "ReportDeliveryFailed",
    "ReportPublished",
    "SummarizationFailed",
    "SummarizationRequested",
    "SummaryComplete",
    "event_class",
    "parse_event",
    "split_to_fit",
]
