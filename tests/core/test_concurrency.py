"""Bounded concurrency, batches and pages."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from shared.core.concurrency import BoundedQueue, QueueFullError, batches_of, gather_limited, in_pages


class StageContext:
    """Jobs that count how many of them are running."""

    def __init__(self) -> None:
        self.running = self.most = self.ended = 0

    async def piece(self, number: int, *, fail: bool = False) -> int:
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(40):
            await asyncio.sleep(0)
        self.running -= 1
        self.ended += 1
        if fail:
            raise ValueError(f"piece {number}")
        return number


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (3, 3), (100, 20)])
async def test_no_more_than_the_limit_run_at_once_and_results_keep_their_order(limit: int, most: int) -> None:
    work = StageContext()
    assert await gather_limited((work.piece(number) for number in range(20)), limit) == list(range(20))
    assert work.most == most


async def test_nothing_to_do_is_done() -> None:
    assert await gather_limited(StageContext().piece(number) for number in range(0)) == []


async def test_the_first_error_is_raised_when_all_have_ended() -> None:
    work = StageContext()
    with pytest.raises(ValueError, match="piece 2"):
        await gather_limited((work.piece(number, fail=number in {2, 4}) for number in range(8)), 2)
    assert work.ended == 8


async def test_cancelling_ends_what_runs_and_starts_nothing_more() -> None:
    started: list[int] = []
    full = asyncio.Event()

    async def endless(number: int) -> None:
        started.append(number)
        if len(started) == 2:
            full.set()
        await asyncio.Event().wait()

    gathering = asyncio.create_task(gather_limited((endless(number) for number in range(9)), 2))
    await full.wait()
    gathering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gathering
    assert started == [0, 1]
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_batches_have_their_size_and_the_last_what_is_left() -> None:
    assert batches_of(range(5), 2) == [[0, 1], [2, 3], [4]]
    assert batches_of("", 2) == []


@pytest.mark.parametrize(("count", "pages"), [(0, []), (2, [2]), (3, [2, 1])])
async def test_pages_have_their_size_and_the_last_what_is_left(count: int, pages: list[int]) -> None:
    async def items() -> AsyncIterator[int]:
        for number in range(count):
            yield number

    assert [len(page) async for page in in_pages(items(), 2)] == pages


async def test_a_queue_takes_so_many_at_a_time_and_refuses_what_would_wait_too_long() -> None:
    work, queue = StageContext(), BoundedQueue(2, 3)

    async def one(number: int) -> int:
        async with queue:
            return await work.piece(number, fail=number == 1)

    found = await asyncio.gather(*(one(number) for number in range(8)), return_exceptions=True)
    assert work.most == 2
    assert [type(answer) for answer in found] == [int, ValueError, int, int, int] + [QueueFullError] * 3
    waiting = [asyncio.create_task(one(number)) for number in range(5)]
    await asyncio.sleep(0)
    waiting[4].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await asyncio.gather(*(one(number) for number in (2, 3, 4, 5, 6))) == [2, 3, 4, 5, 6]
