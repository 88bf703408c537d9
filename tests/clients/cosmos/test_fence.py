"""A worker whose turn of the threading lease is over cannot write messages where others have been since."""

from collections.abc import Awaitable, Callable

import pytest

from shared.clients.cosmos.lease import THREADING, Lease
from shared.clients.cosmos.session import Patch, Session, TurnOverError
from shared.clients.cosmos.store import Store
from shared.documents.queries.threads import ALL_MESSAGE_THREADS
from shared.documents.records import Lock
from shared.documents.threads import FENCE, Message
from tests.support.cosmos_engine import clients_on_engine
from tests.support.documents import new_message

ONE, *OTHERS = [f"abcd{number}" for number in range(200)]
SAME = next(key for key in OTHERS if Message.partition_of(key) == Message.partition_of(ONE))
ELSEWHERE = next(key for key in OTHERS if Message.partition_of(key) != Message.partition_of(ONE))

WRITES: dict[str, Callable[[Store, Session], Awaitable[object]]] = {
    "create": lambda store, session: store.create_missing([new_message(SAME)], session),
    "replace": lambda store, session: store.upsert_all([new_message(ONE, subject="late")], session),
    "patch": lambda store, session: store.patch_all(Message, [Patch(ONE, set={"subject": "late"})], session),
    "delete": lambda store, session: store.delete(Message, ONE, session),
    "catch up": lambda store, session: store.catch_up(Message, [ONE, SAME], session),
}


def in_turn(turn: int) -> Session:
    session = Session()
    session.turn = turn
    return session


async def messages_in(store: Store) -> dict[str, str]:
    found = await store.find_many(Message, [ONE, SAME], Session())
    return {id_: message.subject for id_, message in found.items()}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("other", ["patch", "catch up"])
async def test_what_an_earlier_turn_writes_late_is_refused(write: str, other: str) -> None:
    async with clients_on_engine() as clients:
        store = clients.store
        await store.create_missing([new_message(ONE, subject="first")], in_turn(6))
        await WRITES[other](store, in_turn(7))
        before = await messages_in(store)
        with pytest.raises(TurnOverError):
            await WRITES[write](store, in_turn(6))
        assert await messages_in(store) == before != {}


@pytest.mark.parametrize("write", WRITES)
async def test_the_same_turn_and_later_ones_write(write: str) -> None:
    async with clients_on_engine() as clients:
        store = clients.store
        await store.create_missing([new_message(ONE)], in_turn(6))
        await WRITES[write](store, in_turn(6))
        await WRITES[write](store, in_turn(7))


async def test_another_partition_is_open() -> None:
    async with clients_on_engine() as clients:
        store = clients.store
        await store.catch_up(Message, [ONE], in_turn(7))
        assert await store.create_missing([new_message(ELSEWHERE)], in_turn(6)) == {ELSEWHERE}


async def test_an_error_behind_the_fence_is_that_of_the_operation() -> None:
    async with clients_on_engine() as clients:
        store, session = clients.store, in_turn(6)
        await store.create_missing([new_message(ONE)], session)
        assert await store.create_missing([new_message(ONE), new_message(SAME)], session) == {SAME}
        assert await store.delete(Message, ONE, session)
        assert not await store.delete(Message, ONE, session)


async def test_the_fence_is_no_message() -> None:
    async with clients_on_engine() as clients:
        store = clients.store
        await store.create_missing([new_message(ONE)], in_turn(6))
        rows = [row async for row in store.query(ALL_MESSAGE_THREADS, Session(), before=2**40)]
        assert [row["id"] for row in rows] == [ONE]
        assert len(await store._read_items("messages", [(FENCE, Message.partition_of(ONE))], Session())) == 1


async def test_each_holder_of_the_lease_has_a_higher_turn_while_it_holds_it() -> None:
    async with clients_on_engine() as clients:
        turns = []
        for _ in range(3):
            session = Session()
            async with Lease(clients.store, THREADING, clients.runtime).held(session):
                turns.append(session.turn or 0)
            assert session.turn is None
        assert turns == sorted(set(turns))
        assert turns[0] > 0
        # A lock that was lost does not begin below the fences.
        await clients.store.delete(Lock, THREADING, Session())
        async with Lease(clients.store, THREADING, clients.runtime).held(session):
            assert (session.turn or 0) >= turns[0]


async def test_another_lease_has_no_turn() -> None:
    async with clients_on_engine() as clients:
        session = Session()
        async with Lease(clients.store, "other", clients.runtime).held(session):
            assert session.turn is None
