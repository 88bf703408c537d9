"""Invocation: where functions run, their time limits, and their exceptions."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from localcloud.functions.bridge import LoopBridge
from localcloud.functions.context import Trace
from localcloud.functions.definitions import CallPlan, Function, TimerTrigger
from localcloud.functions.invocation import Call, FunctionTimeout, Invoker, Outcome, pool_size


@pytest.fixture
async def invoker() -> AsyncIterator[Invoker]:
    made = Invoker(timeout_seconds=30, threads=8)
    yield made
    await made.close()


def function(call: Callable[..., Any], *, context: bool = False) -> Function:
    plan = CallPlan(
        call=call,
        is_async=asyncio.iscoroutinefunction(call),
        trigger_parameter="value",
        sdk_message=False,
        takes_context=context,
        actions_parameter=None,
        returns_response=True,
    )
    trigger = TimerTrigger("0 * * * * *", run_on_startup=False, use_monitor=True)
    return Function("f", trigger, plan, (), "/app")


async def test_an_async_function_runs_on_a_loop_that_is_not_the_hosts(invoker: Invoker) -> None:
    async def where(value: Any) -> tuple[str, bool]:
        return threading.current_thread().name, asyncio.get_running_loop() is host_loop

    host_loop = asyncio.get_running_loop()
    outcome = await invoker.invoke(function(where), Call(None, "test"))
    assert outcome.value == ("functions-loop", False)


async def test_all_async_functions_share_one_loop(invoker: Invoker) -> None:
    async def loop_id(value: Any) -> int:
        return id(asyncio.get_running_loop())

    outcomes = await asyncio.gather(
        *(invoker.invoke(function(loop_id), Call(None, "test")) for _ in range(20))
    )
    assert len({outcome.value for outcome in outcomes}) == 1


async def test_blocking_functions_run_side_by_side_up_to_the_size_of_the_pool(invoker: Invoker) -> None:
    barrier = threading.Barrier(8)

    def meet(value: Any) -> bool:
        barrier.wait(timeout=10)  # passes only if eight run in parallel
        return True

    outcomes = await asyncio.gather(*(invoker.invoke(function(meet), Call(None, "test")) for _ in range(16)))
    assert all(outcome.value for outcome in outcomes)


async def test_a_pool_of_one_runs_sync_functions_in_turn() -> None:
    single = Invoker(timeout_seconds=30, threads=1)
    running: list[int] = []

    def alone(value: int) -> int:
        running.append(value)
        time.sleep(0.01)
        together = len(running)
        running.remove(value)
        return together

    outcomes = await asyncio.gather(*(single.invoke(function(alone), Call(n, "test")) for n in range(10)))
    await single.close()
    assert {outcome.value for outcome in outcomes} == {1}


async def test_many_calls_of_both_kinds_all_come_back(invoker: Invoker) -> None:
    async def double(value: int) -> int:
        await asyncio.sleep(0)
        return value * 2

    def triple(value: int) -> int:
        return value * 3

    calls = [invoker.invoke(function(double), Call(number, "test")) for number in range(300)]
    calls += [invoker.invoke(function(triple), Call(number, "test")) for number in range(300)]
    outcomes = await asyncio.gather(*calls)
    assert [outcome.value for outcome in outcomes] == [n * 2 for n in range(300)] + [
        n * 3 for n in range(300)
    ]
    assert invoker.outstanding == 0


async def test_a_function_that_blocks_its_loop_does_not_block_the_host(invoker: Invoker) -> None:
    entered, leave = threading.Event(), threading.Event()

    async def block(value: Any) -> None:
        entered.set()
        leave.wait(10)

    def quick(value: Any) -> str:
        return "done"

    blocked = asyncio.create_task(invoker.invoke(function(block), Call(None, "test")))
    await asyncio.to_thread(entered.wait, 10)
    assert (await invoker.invoke(function(quick), Call(None, "test"))).value == "done"
    leave.set()
    assert (await blocked).succeeded


@pytest.mark.parametrize("error", [RuntimeError("boom"), SystemExit(3), asyncio.CancelledError()])
@pytest.mark.parametrize("is_async", [False, True])
async def test_whatever_a_function_raises_is_its_outcome_and_the_next_one_runs(
    invoker: Invoker, error: BaseException, is_async: bool
) -> None:
    def fail(value: Any) -> None:
        raise error

    async def fail_async(value: Any) -> None:
        raise error

    outcome = await invoker.invoke(function(fail_async if is_async else fail), Call(None, "test"))
    assert type(outcome.error) is type(error)
    after = await invoker.invoke(function(lambda value: value), Call("still here", "test"))
    assert after.value == "still here"


async def test_the_context_tells_the_invocation(invoker: Invoker) -> None:
    seen: list[Any] = []

    def look(value: Any, context: Any) -> None:
        trace, retry = context.trace_context, context.retry_context
        seen.extend(
            [
                context.invocation_id,
                context.thread_local_storage.invocation_id,
                context.function_name,
                context.function_directory,
                (trace.trace_parent, trace.Traceparent, trace.trace_state, trace.attributes),
                (retry.retry_count, retry.max_retry_count, retry.exception),
            ]
        )

    call = Call(None, "test", Trace("00-abc", "s=1"))
    outcome = await invoker.invoke(function(look, context=True), call)
    assert outcome.error is None
    assert seen == [
        call.invocation_id,
        call.invocation_id,
        "f",
        "/app",
        ("00-abc", "00-abc", "s=1", {}),
        (0, 0, None),
    ]


async def test_start_and_end_are_logged_with_their_id(
    invoker: Invoker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    call = Call(None, "because")
    await invoker.invoke(function(lambda value: value), call)
    assert f"Executing 'Functions.f' (Reason='because', Id={call.invocation_id})" in caplog.text
    assert f"Executed 'Functions.f' (Succeeded, Id={call.invocation_id}, Duration=" in caplog.text


async def test_a_failure_is_logged_with_its_traceback(
    invoker: Invoker, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(value: Any) -> None:
        raise RuntimeError("this is why")

    await invoker.invoke(function(fail), Call(None, "test"))
    assert "Executed 'Functions.f' (Failed, Id=" in caplog.text
    assert "RuntimeError: this is why" in caplog.text
    assert "in fail" in caplog.text


async def test_an_async_function_over_its_time_is_cancelled() -> None:
    invoker = Invoker(timeout_seconds=0.2)
    cancelled = threading.Event()

    async def hang(value: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.set()

    outcome = await asyncio.wait_for(invoker.invoke(function(hang), Call(None, "test")), 10)
    assert isinstance(outcome.error, FunctionTimeout)
    assert await asyncio.to_thread(cancelled.wait, 10)
    await invoker.close()


async def test_a_sync_function_over_its_time_limit_fails_and_is_reported_as_running(
    caplog: pytest.LogCaptureFixture,
) -> None:
    invoker = Invoker(timeout_seconds=0.2)
    leave = threading.Event()

    def hang(value: Any) -> None:
        leave.wait(10)

    outcome = await asyncio.wait_for(invoker.invoke(function(hang), Call(None, "test")), 10)
    leave.set()
    assert isinstance(outcome.error, FunctionTimeout)
    assert "Timeout value of 00:00:00 exceeded by function 'Functions.f'" in caplog.text
    assert "its thread continues in the background" in caplog.text
    await invoker.close()


async def test_draining_waits_for_invocations_that_end_in_time_and_cancels_the_others() -> None:
    invoker = Invoker(timeout_seconds=30)

    async def sleep(value: float) -> str:
        await asyncio.sleep(value)
        return "ended"

    short = asyncio.create_task(invoker.invoke(function(sleep), Call(0.1, "test")))
    long = asyncio.create_task(invoker.invoke(function(sleep), Call(3600, "test")))
    await asyncio.sleep(0)
    await invoker.drain(0.5)
    assert short.result().value == "ended"
    assert long.cancelled()
    await invoker.close()


@pytest.mark.parametrize(
    ("text", "size"), [(None, None), ("1", 1), ("1000", 1000), ("0", None), ("1001", None), ("many", None)]
)
def test_the_size_of_the_pool_is_taken_as_the_worker_takes_it(text: str | None, size: int | None) -> None:
    assert pool_size(text) == size


async def test_a_call_that_raises_keeps_no_other_from_the_loop() -> None:
    loop = asyncio.get_running_loop()
    complaints: list[Any] = []
    loop.set_exception_handler(lambda _, told: complaints.append(told["exception"]))
    bridge, arrived = LoopBridge(loop), asyncio.Event()
    bridge.call(list[int]().pop)
    bridge.call(arrived.set)
    async with asyncio.timeout(10):
        await arrived.wait()
    assert [type(complaint) for complaint in complaints] == [IndexError]


async def test_a_started_function_reports_its_end_and_is_canceled_when_the_host_drains(
    invoker: Invoker,
) -> None:
    async def echo(value: Any) -> Any:
        return value

    async def hang(value: Any) -> None:
        await asyncio.sleep(3600)

    ended: asyncio.Queue[Outcome] = asyncio.Queue()
    invoker.start(function(echo), Call("here", "test"), ended.put_nowait)
    assert (await ended.get()).value == "here"
    invoker.start(function(hang), Call(None, "test"), ended.put_nowait)
    await invoker.drain(0.05)
    assert isinstance(ended.get_nowait().error, asyncio.CancelledError)
    assert invoker.outstanding == 0
