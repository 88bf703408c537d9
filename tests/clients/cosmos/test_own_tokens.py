"""The SDK's own session tokens: each is of one container."""

from datetime import UTC, datetime

import pytest

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.sources import Operation, Removal
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

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
