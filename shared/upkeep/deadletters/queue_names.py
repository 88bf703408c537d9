"""Which dead-letter queues there are, and the names that an operator may use for them."""

from shared.core.errors import PipelineError
from shared.pipeline.topology import EMBEDDING, ORCHESTRATION, PRODUCERS, QUEUES, REPORTING, SWEPT

# Collections, the routing keys of the *Failed events, and a few more names that R-803 gives. A routing
# key wins over a collection: `chunks.failed` is chunking's.
_OTHER_NAMES = {
    **{stage.document.container: stage.name for stage in SWEPT},
    **{producer.fails_as.routing_key.removesuffix(".failed"): producer.name for producer in PRODUCERS},
    "embedding.generation": EMBEDDING.name,
    "orchestrator": ORCHESTRATION.name,
    "report.delivery": REPORTING.name,
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
