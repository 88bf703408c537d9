"""The app's entities in Service Bus keep the limits of Microsoft's emulator, and feed every stage."""

from localcloud.servicebus.config import load_config
from tests.support.services import ROOT

STAGES = {
    "parsing": "ArchiveIngested",
    "chunking": "JSONParsed",
    "embedding": "ChunksPrepared",
    "orchestration": "EmbeddingsGenerated",
    "summarization": "SummarizationRequested",
    "reporting": "SummaryComplete",
}
FAILURES = {
    "ArchiveIngestionFailed",
    "ParsingFailed",
    "ChunkingFailed",
    "EmbeddingGenerationFailed",
    "OrchestrationFailed",
    "SummarizationFailed",
    "ReportDeliveryFailed",
}


def test_the_topology_keeps_the_emulators_limits_and_feeds_every_stage() -> None:
    config = load_config(ROOT / "infra" / "servicebus" / "Config.json")
    assert [queue.name for queue in config.queues] == [
        *STAGES,
        "failures",
        "ingestion",
        "operations",
        "removal",
        "deliveries",
    ]
    (events,) = config.topics
    assert events.options.duplicate_window == 300_000
    labels = {
        subscription.name: {rule.filter.system["subject"] for rule in subscription.rules}  # type: ignore[union-attr]
        for subscription in events.subscriptions
    }
    assert labels == {stage: {event} for stage, event in STAGES.items()} | {"failures": FAILURES}
    for subscription in events.subscriptions:
        assert subscription.options.forward_to == subscription.name
    for queue in config.queues:
        assert queue.options.lock_duration == 300_000
        assert queue.options.max_delivery_count == 10
        assert queue.options.dead_letter_on_expiration
