"""The app's entities in Service Bus feed every stage."""

import json

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


def test_the_topology_feeds_every_stage() -> None:
    (namespace,) = json.loads((ROOT / "infra/servicebus/Config.json").read_text())["UserConfig"]["Namespaces"]
    requests = ["failures", "ingestion", "operations", "removal", "deliveries"]
    assert [queue["Name"] for queue in namespace["Queues"]] == [*STAGES, *requests]
    (events,) = namespace["Topics"]
    assert events["Properties"]["DuplicateDetectionHistoryTimeWindow"] == "PT5M"
    labels = {
        subscription["Name"]: {
            rule["Properties"]["CorrelationFilter"].get("Label") for rule in subscription["Rules"]
        }
        for subscription in events["Subscriptions"]
    }
    assert labels == {stage: {event} for stage, event in STAGES.items()} | {"failures": FAILURES}
    for subscription in events["Subscriptions"]:
        assert subscription["Properties"]["ForwardTo"] == subscription["Name"]
    for queue in namespace["Queues"]:
        properties = queue["Properties"]
        assert (properties["LockDuration"], properties["MaxDeliveryCount"]) == ("PT5M", 10)
        assert properties["DeadLetteringOnMessageExpiration"]
