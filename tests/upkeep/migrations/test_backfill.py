"""The backfill, on a container of the local Cosmos DB."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from shared.clients.cosmos.session import Session
from shared.documents.messages import Message
from shared.documents.queries.named_query import NamedQuery
from shared.documents.upgrades import migrations
from shared.upkeep.migrations.backfill import backfill
from tests.support.cloud import LocalCloud
from tests.support.services import RunningService
from tests.support.toy_stages import Bench, bench, message

pytestmark = pytest.mark.asyncio(loop_scope="module")
VERSIONS = NamedQuery("versions", "messages", "SELECT c.id, c.schema_version, c.subject FROM c")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(cloud: LocalCloud, bus_service: RunningService) -> AsyncIterator[Bench]:
    async with bench(cloud.settings(bus_service)) as ready:
        yield ready


@pytest.fixture
def newer_messages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the next release had a step for messages."""
    monkeypatch.setattr(Message, "current_version", "1.1.0")
    migrations.step("messages", start="1.0.0", end="1.1.0")(
        lambda doc: {**doc, "subject": doc["subject"] or "none"}
    )
    yield
    migrations._steps.clear()


async def test_a_backfill_that_is_stopped_goes_on_where_it_was(place: Bench, newer_messages: None) -> None:
    old = [
        message(f"m{i}").model_copy(update={"schema_version": "1.0.0", "thread_id": f"t{i % 7}"})
        for i in range(60)
    ]
    await place.clients.store.create_missing(old, Session())
    assert (await place.clients.store.read(Message, "m1", "t1", Session())).subject == "none", (
        "upgraded on read"
    )

    class Stopped(Exception):  # noqa: N818 - as Ctrl-C would
        pass

    def stop_after_a_while(done: object) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        await backfill(place.clients.store, "messages", batch=20, progress=stop_after_a_while)
    versions = [
        document["schema_version"] async for document in place.clients.store.query(VERSIONS, Session())
    ]
    assert sorted(versions) == ["1.0.0"] * 40 + ["1.1.0"] * 20
    rest = await backfill(place.clients.store, "messages", batch=20)
    assert (rest.upgraded, rest.changed_meanwhile) == (40, 0)
    stored = [document async for document in place.clients.store.query(VERSIONS, Session())]
    assert {(document["schema_version"], document["subject"]) for document in stored} == {("1.1.0", "none")}
    again = await backfill(place.clients.store, "messages")
    assert again.upgraded == 0
