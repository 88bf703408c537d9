"""Which dead-letter queues there are, and the names that an operator may use for them."""

from shared.clients.servicebus.administration import QUEUES
from shared.core.errors import PipelineError
from shared.pipeline.events.catalogue import CATALOGUE

__all__ = ["QUEUES", "UnknownQueueError", "queue_named"]

# The stage behind each *Failed event, by the specification's routing keys; and its names for collections.
_FAILED = {
    "ArchiveIngestionFailed": "ingestion",
    "ParsingFailed": "parsing",
    "ChunkingFailed": "chunking",
    "EmbeddingGenerationFailed": "embedding",
    "OrchestrationFailed": "orchestration",
    "SummarizationFailed": "summarization",
    "ReportDeliveryFailed": "reporting",
}
_OTHER_NAMES = {
    **{CATALOGUE[event].routing_key.removesuffix(".failed"): stage for event, stage in _FAILED.items()},
    "archives": "parsing",
    "messages": "chunking",
    "threads": "summarization",
    "embedding.generation": "embedding",
    "orchestrator": "orchestration",
    "report.delivery": "reporting",
}
_SUFFIXES = ("/$deadletterqueue", ".failed", ".dlq")


class UnknownQueueError(PipelineError):
    """There is no such queue."""


def queue_named(name: str) -> str:
    """The stage's queue by any of its names: parsing, parsing.failed, parsing/$deadletterqueue."""
    plain = name.strip().lower()
    for suffix in _SUFFIXES:
        plain = plain.removesuffix(suffix)
    if plain in QUEUES:
        return plain
    if plain in _OTHER_NAMES:
        return _OTHER_NAMES[plain]
    raise UnknownQueueError(f"there is no queue {name!r}: it is one of {', '.join(QUEUES)}")
