"""An expensive object is started once and shared."""

import asyncio

import pytest

from shared.core.concurrency import StartedOnce


class Engine:
    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Starter:
    def __init__(self, *, fails: bool = False) -> None:
        self.starts, self.fails = 0, fails
        self.free = asyncio.Event()

    async def start(self) -> Engine:
        self.starts += 1
        await self.free.wait()
        if self.fails:
            raise OSError("no engine")
        return Engine()


async def test_all_who_ask_get_the_same_one_and_it_is_closed_in_the_end() -> None:
    once, starter = StartedOnce(), Starter()
    starter.free.set()
    engines = await asyncio.gather(*(once.get("engine", starter.start) for _ in range(3)))
    assert starter.starts == 1
    assert len(set(engines)) == 1
    await once.close()
    assert engines[0].closed


async def test_everybody_who_waits_for_one_that_does_not_start_is_told_why_and_the_next_tries_again() -> None:
    once, starter = StartedOnce(), Starter(fails=True)
    waiting = [asyncio.create_task(once.get("engine", starter.start)) for _ in range(3)]
    await asyncio.sleep(0)
    starter.free.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [OSError] * 3
    with pytest.raises(OSError, match="no engine"):
        await once.get("engine", starter.start)
    assert starter.starts == 2
    await once.close()


async def test_one_who_leaves_does_not_stop_the_start_for_the_others() -> None:
    once, starter = StartedOnce(), Starter()
    leaving, staying = (asyncio.create_task(once.get("engine", starter.start)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait({leaving})
    starter.free.set()
    assert isinstance(await staying, Engine)
    assert starter.starts == 1
    await once.close()


async def test_one_that_is_given_is_used_and_left_to_its_owner() -> None:
    once, starter, engine = StartedOnce(), Starter(), Engine()
    once.give("engine", engine)
    assert await once.get("engine", starter.start) is engine
    await once.close()
    assert (starter.starts, engine.closed) == (0, False)
