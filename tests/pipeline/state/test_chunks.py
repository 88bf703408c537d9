from typing import Any

import pytest

from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Store
from shared.core.errors import ClassifiedError, ErrorKind
from shared.models.threads import Chunk
from shared.pipeline.state.archives import (
    is_chunk_finished,
    mark_chunk_failed,
    mark_embedded,
    mark_reembedded,
    recover_chunks,
    update_labels,
)
from tests.support.cosmos_engine import changes_to
from tests.support.documents import new_chunk


@pytest.mark.parametrize(
    ("state", "settled"),
    [
        ({}, False),
        ({"embedding_generated": True, "embedding_model": "now", "status": "processed"}, True),
        # This model's index cannot use another model's vector.
        ({"embedding_generated": True, "embedding_model": "before", "status": "processed"}, False),
        ({"embedding_generated": False, "embedding_model": "now"}, False),
        ({"status": "failed_max_retries"}, True),
    ],
)
def test_a_chunk_is_settled_when_this_model_embedded_it_or_it_was_given_up(
    state: dict[str, Any], settled: bool
) -> None:
    assert is_chunk_finished(new_chunk(**state), "now") is settled


FAILURE = ClassifiedError(ErrorKind.PERMANENT, "Trouble", "too long")
NOW = "2026-01-02T03:04:05.000000Z"


def test_a_chunk_ends_as_embedded_or_with_its_error() -> None:
    chunk = new_chunk(label_version=7)
    embedded = {
        "embedding_generated": True,
        "embedding_model": "new",
        "status": "processed",
        "lastError": None,
    }
    as_read = "c.label_version = 7"
    assert mark_embedded(chunk, model="new") == Patch("c1", set=embedded, condition=as_read)
    given_up = {"status": "failed_max_retries", "lastError": "Trouble: too long"}
    assert mark_chunk_failed(chunk, FAILURE) == Patch("c1", set=given_up, condition=as_read)


def test_a_chunk_with_another_models_vector_changes_its_model_alone() -> None:
    change = mark_reembedded(new_chunk(), model="new")
    assert (change.id, change.set) == ("c1", {"embedding_model": "new"})


@pytest.mark.parametrize(("version", "labelled"), [(6, True), (7, False), (8, False)])
async def test_a_chunk_gets_no_labels_but_later_ones(store: Store, version: int, labelled: bool) -> None:
    chunk = new_chunk(label_version=version, status="processed", embedding_generated=True)
    labels = {"thread_id": "t2", "archive_id": "a", "archive_ids": ["a"], "label_version": 7}
    patch = update_labels("c1", labels, is_pending=True)
    changed = await changes_to(store, chunk, lambda: store.patch_all(Chunk, [patch], Session()))
    assert changed == ({**labels, "status": "pending"} if labelled else {})


@pytest.mark.parametrize(
    ("status", "error", "changes"),
    [
        ("processed", "E", {"lastError": None}),
        ("processed", None, {}),
        ("pending", "E", {}),
        ("failed_max_retries", "E", {}),
    ],
)
async def test_only_an_embedded_chunk_forgets_its_error(
    store: Store, status: str, error: str | None, changes: dict[str, None]
) -> None:
    chunk = new_chunk(status=status, lastError=error)
    assert await changes_to(store, chunk, lambda: recover_chunks(store, [chunk], Session())) == changes


async def test_a_recovered_chunk_that_had_no_error_is_not_written(store: Store) -> None:
    """The chunk may be gone, and a write would fail the whole batch."""
    await recover_chunks(store, [new_chunk("gone", status="processed")], Session())
