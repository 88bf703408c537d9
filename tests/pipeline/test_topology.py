"""The table of stages matches the broker, the host, the settings and the documents."""

import json
from pathlib import Path
from typing import Any

import pytest

from shared.models.containers import CONTAINERS
from shared.operations.due_documents import COLLECTIONS, Policy
from shared.pipeline.event_types import SummaryRecheck
from shared.pipeline.events import CATALOGUE
from shared.pipeline.topology import (
    DELIVERIES,
    FAILURES,
    INGESTION,
    OPERATIONS,
    PRODUCERS,
    QUEUES,
    REMOVAL,
    STAGE_OF_FAILURE,
    STAGES,
    SWEPT,
    QueueRow,
    StageRow,
)
from shared.settings.app import Settings
from stages.orchestration import ORCHESTRATION
from tests.support.functions import app_functions

ROOT = Path(__file__).parents[2]
(NAMESPACE,) = json.loads((ROOT / "infra/servicebus/Config.json").read_text())["UserConfig"]["Namespaces"]
(TOPIC,) = NAMESPACE["Topics"]
HOST = json.loads((ROOT / "host.json").read_text())
ROWS: tuple[QueueRow, ...] = (*PRODUCERS, FAILURES, OPERATIONS, REMOVAL, DELIVERIES)

# Stage, consumed event, announced event, failure event, documents, attempts, in the order of the pipeline.
EXPECTED = """
parsing        ArchiveIngested         JSONParsed              ParsingFailed              archives  ARCHIVES
chunking       JSONParsed              ChunksPrepared          ChunkingFailed             messages  MESSAGES
embedding      ChunksPrepared          EmbeddingsGenerated     EmbeddingGenerationFailed  chunks    CHUNKS
orchestration  EmbeddingsGenerated     SummarizationRequested  OrchestrationFailed        threads   -
summarization  SummarizationRequested  SummaryComplete         SummarizationFailed        threads   THREADS
reporting      SummaryComplete         ReportPublished         ReportDeliveryFailed       threads   -
"""


def shown(stage: StageRow[Any]) -> list[str]:
    announced = ",".join(event.__name__ for event in stage.announces)
    attempts = (stage.max_attempts or "-").removeprefix("RETRY_JOB_MAX_ATTEMPTS_")
    container = stage.document.container
    return [stage.name, stage.consumes.__name__, announced, stage.fails_as.__name__, container, attempts]


def test_the_stages_are_these_and_stand_in_this_order() -> None:
    assert [shown(stage) for stage in STAGES] == [line.split() for line in EXPECTED.strip().splitlines()]
    assert [event.__name__ for event in INGESTION.announces] == ["ArchiveIngested"]
    assert INGESTION.fails_as.__name__ == "ArchiveIngestionFailed"


def test_each_stage_announces_what_the_next_one_consumes() -> None:
    announced = [event for producer in PRODUCERS for event in producer.announces]
    assert announced[:-1] == [stage.consumes for stage in STAGES]


@pytest.mark.requirement("R-909")
def test_the_broker_has_these_queues_and_gives_up_after_as_many_deliveries() -> None:
    deliveries = {queue["Name"]: queue["Properties"]["MaxDeliveryCount"] for queue in NAMESPACE["Queues"]}
    assert deliveries == {row.name: row.max_deliveries for row in ROWS}
    assert len(QUEUES) == len(set(QUEUES)) == len(ROWS)
    assert set(QUEUES) == set(deliveries)


def test_the_topic_forwards_each_event_to_its_stage_and_each_failure_to_the_ledger() -> None:
    found = {
        subscription["Properties"]["ForwardTo"]: (
            subscription["Name"],
            {rule["Properties"]["CorrelationFilter"]["Label"] for rule in subscription["Rules"]},
            subscription["Properties"]["MaxDeliveryCount"],
        )
        for subscription in TOPIC["Subscriptions"]
    }
    expected = {stage.name: (stage.name, {stage.consumes.__name__}, stage.max_deliveries) for stage in STAGES}
    ledger = (FAILURES.name, set(STAGE_OF_FAILURE), FAILURES.max_deliveries)
    assert found == {**expected, FAILURES.name: ledger}


def test_the_host_makes_as_many_calls_at_once() -> None:
    calls = HOST["extensions"]["serviceBus"]["maxConcurrentCalls"]
    assert {row.concurrent_calls for row in ROWS} == {calls}


def test_every_queue_triggers_the_function_of_its_name() -> None:
    triggers = {
        function.get_function_name(): trigger["queueName"]
        for function in app_functions()
        if (trigger := function.get_trigger().get_dict_repr())["type"] == "serviceBusTrigger"
    }
    assert triggers == {row.name: row.name for row in ROWS}


def test_the_ledger_knows_the_stage_of_every_failure() -> None:
    assert set(STAGE_OF_FAILURE) == {name for name in CATALOGUE if name.endswith("Failed")}
    assert STAGE_OF_FAILURE["ArchiveIngestionFailed"] == "ingestion"
    assert all(STAGE_OF_FAILURE[stage.fails_as.__name__] == stage.name for stage in STAGES)


def test_the_sweep_looks_after_each_container_once_with_a_setting_of_its_own() -> None:
    names = [stage.document.container for stage in SWEPT]
    assert [collection.name for collection in COLLECTIONS] == names
    assert len(set(names)) == len(names)
    assert set(names) <= CONTAINERS.keys()
    values = {str(stage.max_attempts): number for number, stage in enumerate(SWEPT, start=1)}
    assert values.keys() <= Settings.model_fields.keys()
    settings = Settings.model_construct(COSMOS_ENDPOINT="", SEARCH_ENDPOINT="", **values)  # type: ignore[arg-type]
    assert Policy.from_settings(settings).max_attempts == dict(zip(names, values.values(), strict=True))


def test_the_sweep_rebuilds_an_event_from_these_fields() -> None:
    source = ("source", "source_type", "source_url")
    file = ("file_path", "file_size_bytes", "file_hash", "ingestion_date")
    assert {stage.name: stage.rebuild_fields for stage in STAGES if stage.rebuild_fields} == {
        "parsing": (*source, *file),
        "chunking": ("archive_id",),
        "embedding": ("message_key", "token_count", "archive_id", "label_version"),
    }


def test_only_orchestration_sends_events_to_itself() -> None:
    internal = {stage.name: stage.internal for stage in STAGES if stage.internal}
    assert internal == {"orchestration": (SummaryRecheck,)}


@pytest.mark.parametrize("stage", SWEPT, ids=lambda stage: str(stage.name))
def test_events_are_rebuilt_from_stored_fields(stage: StageRow[Any]) -> None:
    assert set(stage.rebuild_fields) <= stage.document.model_fields.keys()


def test_a_merged_thread_is_not_swept() -> None:
    assert {stage.name: stage.open_condition for stage in SWEPT if stage.open_condition != "true"} == {
        "summarization": "NOT IS_STRING(c.merged_into)"
    }


def test_only_orchestration_sends_to_itself_and_it_handles_what_it_sends() -> None:
    assert {stage.name: stage.internal for stage in STAGES if stage.internal} == {
        "orchestration": (SummaryRecheck,)
    }
    assert set(ORCHESTRATION.internal) == {SummaryRecheck}
    assert SummaryRecheck.__name__ not in CATALOGUE
