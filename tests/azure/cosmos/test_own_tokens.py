"""Session tokens that outlive one session: the SDK's own tokens, and the tokens that a process has seen."""

from datetime import UTC, datetime
from typing import Any

import pytest

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.queries.named_query import NamedQuery
from shared.models.sources import Operation, Removal
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

OPERATIONS = NamedQuery("operations_now", "operations", "SELECT c.id FROM c")
REMOVALS = NamedQuery("removals_now", "removals", "SELECT c.id FROM c")
NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)


def removal(number: int) -> Removal:
    return Removal(
        id=f"r{number}", target_kind="archive", target="a", requested_by="t", created_at=NOW, updated_at=NOW
    )


@pytest.mark.parametrize("how", ["create", "upsert"])
async def test_what_is_written_to_one_container_first_is_not_asked_of_another(
    cloud: AppCloud, bus_service: RunningService, how: str
) -> None:
    clients = await Clients.connect(cloud.settings(bus_service))
    try:
        await clients.ensure_containers()
        for number in range(3):
            await getattr(clients.store, how)(removal(number), Session())
        operation = Operation(id="o", source="s", requested_by="t", created_at=NOW)
        await getattr(clients.store, how)(operation, Session())
        assert await clients.store.find(Operation, "o", Session()) is not None
        assert await clients.store.find(Removal, "r0", Session()) is not None
    finally:
        await clients.close()


async def test_a_read_sees_what_the_process_wrote_before(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = await Clients.connect(cloud.settings(bus_service))
    try:
        await clients.ensure_containers()
        written, store = Session(), clients.store
        await store.create(removal(0), written)
        container, sent = store._container("removals"), list[str | None]()
        read = container.read_item

        async def read_item(*arguments: Any, session_token: str | None, **options: Any) -> Any:
            sent.append(session_token)
            return await read(*arguments, session_token=session_token, **options)

        monkeypatch.setattr(container, "read_item", read_item)
        assert await store.find(Removal, "r0", Session()) is not None
        assert sent == [written.token("removals")]
        assert sent != [None]
    finally:
        await clients.close()


async def test_the_latest_document_is_that_of_the_primary(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    clients = await Clients.connect(cloud.settings(bus_service))
    other = await Clients.connect(clients.settings)
    try:
        await clients.ensure_containers()
        session = Session()
        assert await clients.store.find_latest(Removal, "r0", session) is None
        assert session.token("removals")
        await other.store.create(removal(0), Session())
        found = await clients.store.find_latest(Removal, "r0", session)
        assert found is not None
        assert found == await other.store.read(Removal, "r0", Session())
    finally:
        await clients.close()
        await other.close()


async def test_a_process_that_has_only_read_with_tokens_of_events_reads_without_a_token(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """The SDK files the answers to such reads of all containers together, and sends their highest position."""
    writer = await Clients.connect(cloud.settings(bus_service))
    reader = await Clients.connect(writer.settings)
    try:
        await writer.ensure_containers()
        written = Session()
        for number in range(40):
            await writer.store.create(removal(number), written)
        await writer.store.create(Operation(id="o", source="s", requested_by="t", created_at=NOW), written)
        for query in (OPERATIONS, REMOVALS):
            assert [row async for row in reader.store.query(query, Session(written.tokens()))]
        assert [row async for row in reader.store.query(OPERATIONS, Session())] == [{"id": "o"}]
    finally:
        await writer.close()
        await reader.close()


async def test_a_process_that_has_only_missed_documents_reads_without_a_token(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    writer = await Clients.connect(cloud.settings(bus_service))
    reader = await Clients.connect(writer.settings)
    try:
        await writer.ensure_containers()
        for number in range(40):
            await writer.store.create(removal(number), Session())
        await writer.store.create(Operation(id="o", source="s", requested_by="t", created_at=NOW), Session())
        for number in range(40):
            assert not await reader.store.delete(Operation, f"absent-{number}", Session())
            assert not await reader.store.delete(Removal, f"absent-{number}", Session())
        assert [row async for row in reader.store.query(OPERATIONS, Session())] == [{"id": "o"}]
    finally:
        await writer.close()
        await reader.close()
