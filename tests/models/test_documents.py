from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from shared.core.errors import InvalidDocumentError, NewerVersionError
from shared.models.base import KeyedDocument
from shared.models.containers import CONTAINERS, DOCUMENTS, read_document
from shared.models.records import Lock
from shared.models.sources import Archive
from shared.models.threads import Address, Chunk, Message, Thread
from tests.support.documents import CREATED, new_message
from tools.schema_files import schema_files

# Every field of the specification, and the retry fields.
SPECIFIED = {
    "archives": "file_hash file_size_bytes source source_url format ingestion_date message_count file_path"
    " status archive_id",
    "messages": "message_id archive_id thread_id in_reply_to references subject from to cc date body_raw"
    " body_normalized body_html headers attachments draft_mentions created_at message_key",
    "chunks": "message_key message_id thread_id chunk_index text token_count start_offset end_offset"
    " overlap_with_previous metadata created_at embedding_generated chunk_id",
    "threads": "archive_id subject participants message_count first_message_date last_message_date"
    " draft_mentions has_consensus consensus_type summary_id created_at thread_id",
    "summaries": "summary_id thread_id summary_type title content_markdown content_html citations"
    " generated_by generated_at metadata",
    "failures": "original_event idempotency_key attempt_count last_error error_type abandoned_reason"
    " service_name timestamp error_hash trace_id",
}
ALWAYS = {"id", "schema_version", "created_at", "attemptCount", "lastAttemptTime", "lastError"}


def archive(**changes: Any) -> Archive:
    values = {
        "archive_id": "0011223344556677",
        "file_hash": "ab" * 32,
        "file_size_bytes": 5,
        "source": "wg",
        "source_url": "upload",
        "ingestion_date": datetime(2026, 1, 1, tzinfo=UTC),
        "file_path": "raw/x.mbox",
        "created_at": CREATED,
    }
    return Archive.model_validate({**values, **changes})


@pytest.mark.parametrize("container", DOCUMENTS)
@pytest.mark.requirement("R-203", "R-204", "R-205", "R-206", "R-209")
def test_every_document_has_the_fields_of_the_specification(container: str) -> None:
    model = DOCUMENTS[container]
    fields = {info.serialization_alias or info.alias or name for name, info in model.model_fields.items()}
    assert fields >= set(SPECIFIED.get(container, "").split()) | ALWAYS


@pytest.mark.parametrize("container", DOCUMENTS)
def test_every_document_takes_fields_that_it_does_not_know(container: str) -> None:
    assert DOCUMENTS[container].model_config["extra"] == "allow"


def test_what_a_later_version_added_is_stored_again_as_it_was() -> None:
    """Unknown fields stay, also nested and after a change. Fields computed by Cosmos DB or by us do not."""
    stored = {
        **new_message(from_=Address(name="A", email="a@x")).to_cosmos(),
        "schema_version": "1.9.0",
        "mood": {"calm": 0.5},
        "_ts": 12,
        "_rid": "x",
        "_etag": "e",
        "pk": "999",
    }
    stored["from"] = {**stored["from"], "pronouns": "they"}
    read = read_document(Message, stored)
    changed = read.model_copy(update={"thread_id": "t2"}).to_cosmos()
    assert changed["mood"] == {"calm": 0.5}
    assert changed["from"]["pronouns"] == "they"
    assert changed["schema_version"] == "1.9.0"
    assert not {name for name in changed if name.startswith("_")}
    assert changed["pk"] == Message.partition_of(read.id)
    assert read.etag == "e"


@pytest.mark.requirement("R-721")
def test_a_new_document_was_never_attempted() -> None:
    new = archive()
    assert (new.attemptCount, new.lastAttemptTime, new.lastError, new.status) == (0, None, None, "pending")


@pytest.mark.requirement("R-203", "R-204", "R-205", "R-206")
def test_the_id_is_also_stored_under_the_specifications_name() -> None:
    stored = archive().to_cosmos()
    assert stored["id"] == stored["archive_id"] == "0011223344556677"
    assert Archive.model_validate({**stored, "archive_id": stored["id"]}).id == stored["id"]
    with pytest.raises(ValidationError, match="id and archive_id differ"):
        archive(id="another")


@pytest.mark.parametrize("bad", ["a/b", "a\\b", "a?b", "a#b", "", "x" * 256])
def test_an_id_that_cosmos_refuses_is_refused_here(bad: str) -> None:
    with pytest.raises(ValidationError):
        archive(archive_id=bad)


@pytest.mark.requirement("R-103")
def test_times_are_stored_in_utc_so_that_they_sort_as_text() -> None:
    east = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    whole = archive(ingestion_date=east).to_cosmos()["ingestion_date"]
    parts = archive(ingestion_date=east + timedelta(microseconds=5)).to_cosmos()["ingestion_date"]
    assert whole == "2026-01-01T10:00:00.000000Z"
    assert whole < parts


@pytest.mark.requirement("R-203", "R-204", "R-205", "R-206")
def test_the_sender_is_stored_as_from() -> None:
    sender = Address(name="A", email="a@x")
    message = Message(
        created_at=CREATED,
        id="m",
        message_key="m",
        message_id="<m@x>",
        archive_id="a",
        thread_id="t",
        from_=sender,
    )
    stored = message.to_cosmos()
    assert stored["from"] == {"name": "A", "email": "a@x"}
    assert read_document(Message, stored) == message
    assert (message.partition, message.named_partition) == (Message.partition_of(message.id), None)


def test_the_etag_is_read_but_not_stored() -> None:
    stored = {**archive().to_cosmos(), "_etag": '"7"', "_ts": 1, "_rid": "x"}
    assert read_document(Archive, stored).etag == '"7"'
    assert not [name for name in read_document(Archive, stored).to_cosmos() if name.startswith("_")]


def test_a_broken_document_is_named_with_the_path_of_the_fault() -> None:
    with pytest.raises(
        InvalidDocumentError, match=r"archives/0011223344556677: file_hash: String should match"
    ):
        read_document(Archive, {**archive().to_cosmos(), "file_hash": "short"})


@pytest.mark.requirement("R-201")
def test_every_document_has_a_container_partitioned_by_its_partition_field() -> None:
    assert {name: spec.partition_path for name, spec in CONTAINERS.items()} == {
        name: "/pk" if issubclass(model, KeyedDocument) else f"/{model.partition_field}"
        for name, model in DOCUMENTS.items()
    }


@pytest.mark.requirement("R-210")
def test_large_texts_are_not_indexed() -> None:
    excluded = {path["path"] for path in CONTAINERS["messages"].indexing_policy()["excludedPaths"]}
    assert {"/body_raw/?", "/body_normalized/?", "/body_html/?"} <= excluded


@pytest.mark.requirement("R-601", "R-609")
def test_states_are_those_of_the_specification_and_none_is_processing() -> None:
    for model in (Archive, Message, Chunk, Thread):
        states = {state.value for state in model.model_fields["status"].annotation}  # type: ignore[union-attr]
        assert "processing" not in states
        assert {"pending", "processed", "failed_max_retries"} <= states


@pytest.mark.requirement("R-207", "R-208", "R-603")
def test_the_committed_schemas_are_those_of_the_models() -> None:
    files = dict(schema_files())
    stale = [path.name for path, text in files.items() if not path.exists() or path.read_text() != text]
    assert not stale, "run: python -m tools.schema_files"
    folders = {path.parent for path in files}
    assert {path for folder in folders for path in folder.iterdir()} == set(files)


@pytest.mark.requirement("R-1003")
def test_a_newer_minor_version_is_read_as_it_is_and_a_newer_major_one_left_to_its_app() -> None:
    stored = {"id": "l", "owner": "me", "expires": 1.0, "created_at": "2026-01-01T00:00:00Z"}
    read = read_document(Lock, {**stored, "schema_version": "1.10.0", "new_field": 1})
    assert (read.schema_version, read.to_cosmos()["new_field"]) == ("1.10.0", 1)
    with pytest.raises(NewerVersionError, match=r"locks/l: schema version 2.0.0 is newer"):
        read_document(Lock, {**stored, "schema_version": "2.0.0"})


@pytest.mark.parametrize("version", ["", "new", 3, None])
def test_a_version_that_is_none_is_refused(version: Any) -> None:
    with pytest.raises(InvalidDocumentError, match="is not a schema version"):
        read_document(Lock, {"id": "l", "schema_version": version})
