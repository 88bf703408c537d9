"""A refreshed session sees others' writes to any partition, with one call for each physical partition."""

from datetime import UTC, datetime

import pytest

from localcloud.testing import CosmosEngine
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.models.sources import Removal
from tests.support.cosmos_engine import DATABASE, clients_on_engine, container_definitions

NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)
MANY = [f"r{number}" for number in range(20)]
LAG = 3600.0


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the partition keys of the batches that read at the primary."""
    found: list[str] = []
    original = Store._primary_token

    async def counted(store: Store, container: str, partition: str) -> str:
        found.append(partition)
        return await original(store, container, partition)

    monkeypatch.setattr(Store, "_primary_token", counted)
    return found


async def write(store: Store, target: str) -> None:
    for id_ in MANY:
        removal = Removal(
            id=id_, target_kind="archive", target=target, requested_by="t", created_at=NOW, updated_at=NOW
        )
        await store.upsert(removal, Session())


async def targets(store: Store, session: Session) -> set[str]:
    found = await store.find_many(Removal, MANY, session)
    return {removal.target for removal in found.values()}


@pytest.mark.parametrize("ranges", [1, 3])
async def test_one_call_for_each_physical_partition(ranges: int, batches: list[str]) -> None:
    engine = CosmosEngine(DATABASE, container_definitions(), ranges=ranges)
    async with clients_on_engine(engine=engine) as clients:
        store = clients.store
        await write(store, "before")
        engine.set_lag(LAG)
        await write(store, "after")
        session = Session({"removals": ",".join(f"{number}:-1#0" for number in range(ranges))})
        assert await targets(store, session) == {"before"}
        await store.refresh(Removal, session)
        assert await targets(store, session) == {"after"}
        assert len(set(batches)) == len(batches) == ranges
        await store.refresh(Removal, session)
        assert len(batches) == 2 * ranges


async def test_a_split_is_noticed(batches: list[str]) -> None:
    engine = CosmosEngine(DATABASE, container_definitions())
    async with clients_on_engine(engine=engine) as clients:
        store, session = clients.store, Session()
        await store.refresh(Removal, session)
        container = engine.container("removals")
        container.split(2)
        assert container.range_of(batches[-1]) == 1, "another range id than before, as after a split"
        await store.refresh(Removal, session)
        seen = session.token("removals") or ""
        assert {part.partition(":")[0] for part in seen.split(",")} == {"0", "1"}
