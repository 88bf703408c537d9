"""Which events there are, and which stage each one goes to."""

from shared.core.errors import InvalidEventError
from shared.pipeline.events import data
from shared.pipeline.events.data import EventData

__all__ = ["CATALOGUE", "STAGE_OF", "event_class"]

CATALOGUE: dict[str, type[EventData]] = {
    event.__name__: event
    for event in (
        data.ArchiveIngested,
        data.ArchiveIngestionFailed,
        data.JSONParsed,
        data.ParsingFailed,
        data.ChunksPrepared,
        data.ChunkingFailed,
        data.EmbeddingsGenerated,
        data.EmbeddingGenerationFailed,
        data.SummarizationRequested,
        data.OrchestrationFailed,
        data.SummaryComplete,
        data.SummarizationFailed,
        data.ReportPublished,
        data.ReportDeliveryFailed,
    )
}

STAGE_OF: dict[str, str] = {
    name: event.consumer for name, event in CATALOGUE.items() if event.consumer is not None
}


def event_class(event_type: str) -> type[EventData]:
    try:
        return CATALOGUE[event_type]
    except KeyError:
        raise InvalidEventError(f"event_type: {event_type!r} is not in the catalogue") from None
