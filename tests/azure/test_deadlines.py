"""Every call has a deadline that depends on its caller, and pauses of our own process do not count."""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from shared.azure.calls import Calls, as_request
from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.telemetry.metrics import Metrics
from shared.core.errors import ErrorKind, ServiceSilentError
from shared.pipeline.topology import PARSING
from tests.support.cloud import AppCloud, frozen
from tests.support.services import RunningService

if TYPE_CHECKING:
    from shared.azure.servicebus.bus import Bus

QUICK = 0.05


@contextmanager
def counted() -> Iterator[tuple[Metrics, InMemoryMetricReader]]:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    yield Metrics.on(provider.get_meter("test")), reader
    provider.shutdown()


def points(reader: InMemoryMetricReader, name: str) -> list[dict[str, object]]:
    data = reader.get_metrics_data()
    assert data is not None
    return [
        dict(point.attributes or {})
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == name
        for point in metric.data.data_points
    ]


async def silent(calls: Calls, operation: str = "read", *, writes: bool = False) -> ServiceSilentError:
    with pytest.raises(ServiceSilentError) as raised:
        async with calls.measured(operation, writes=writes):
            await asyncio.Event().wait()
    return raised.value


@pytest.mark.parametrize(("writes", "seconds"), [(False, 0.05), (True, 0.075)])
async def test_a_request_waits_as_long_as_its_kind_says(*, writes: bool, seconds: float) -> None:
    started = time.monotonic()
    with as_request():
        error = await silent(Calls("cosmos", request_seconds=QUICK), writes=writes)
    assert seconds <= time.monotonic() - started < 2
    assert str(error) == f"Cosmos DB did not answer within {seconds:g} s (read)"
    failure = classify(error)
    assert (failure.kind, failure.details["service"]) == (ErrorKind.TRANSIENT, "Cosmos DB")


async def test_a_stage_waits_longer_than_somebody_at_a_page() -> None:
    calls = Calls("cosmos", request_seconds=QUICK)
    async with calls.measured("read"):
        await asyncio.sleep(0.2)


async def test_a_request_waits_for_a_service_once() -> None:
    calls = Calls("search", request_seconds=QUICK)
    with as_request():
        await silent(calls)
        started = time.monotonic()
        with pytest.raises(ServiceSilentError, match="AI Search does not answer"):
            async with calls.measured("read"):
                pytest.fail("it was asked again")
        assert time.monotonic() - started < 0.05
        async with Calls("cosmos", request_seconds=QUICK).measured("read"):
            pass  # a call to another service is not refused
    with as_request():
        async with calls.measured("read"):
            pass  # the next request calls the service again


async def test_a_pause_of_our_own_process_is_no_silence_of_the_service() -> None:
    answered = asyncio.get_running_loop().create_future()

    def stand_still() -> None:
        time.sleep(0.5)  # blocks the event loop, as a garbage collection or a frozen host does
        answered.set_result("here")

    with as_request():
        async with Calls("cosmos", request_seconds=QUICK).measured("read"):
            asyncio.get_running_loop().call_soon(stand_still)
            assert await answered == "here"


async def test_a_transfer_that_moves_may_take_as_long_as_it_needs() -> None:
    with as_request():
        async with Calls("blobs", request_seconds=QUICK).measured("upload", writes=True) as renew:
            for _ in range(10):
                await asyncio.sleep(0.03)
                renew()


async def test_a_time_out_of_the_work_itself_is_not_taken_for_ours() -> None:
    with pytest.raises(TimeoutError, match="its own"):
        async with Calls("cosmos").measured("read"):
            raise TimeoutError("its own")


async def test_slow_calls_and_missed_deadlines_are_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with counted() as (metrics, reader), as_request():
        calls = Calls("servicebus", metrics, request_seconds=QUICK)
        async with calls.measured("quick"):
            pass
        async with calls.measured("peek"):
            await asyncio.sleep(0.04)
        with caplog.at_level(logging.WARNING):
            await silent(calls, "publish", writes=True)
        slow = {
            (point["dependency"], point["operation"])
            for point in points(reader, "dependency_slow_calls_total")
        }
        assert slow == {("servicebus", "peek"), ("servicebus", "publish")}
        outcomes = {
            point["operation"]: point["outcome"] for point in points(reader, "dependency_calls_total")
        }
        assert outcomes == {"quick": "ok", "peek": "ok", "publish": "deadline"}
    assert (
        "a slow call: Service Bus took 0.1 s for publish (deadline); its deadline is 0.075 s" in caplog.text
    )


async def test_an_error_says_of_which_service_it_is() -> None:
    with pytest.raises(ConnectionError) as raised:
        async with Calls("search").measured("search"):
            raise ConnectionError("refused")
    assert classify(raised.value).details == {"service": "AI Search"}


async def test_the_bus_is_well_again_after_a_call_that_was_broken_off(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """The connection of an interrupted call is not reused, because it may hold half a frame."""
    quick = {"REQUEST_SECONDS": "0.5"}
    clients = await Clients.connect(cloud.settings(bus_service, **quick))
    bus: Bus = clients.bus
    try:
        assert await bus.peek(PARSING.name) == []
        with frozen(bus_service.process):
            for _ in range(2):
                started = time.monotonic()
                with as_request(), pytest.raises(ServiceSilentError, match="Service Bus"):
                    await bus.peek(PARSING.name)
                assert time.monotonic() - started < 2
        assert await bus.peek(PARSING.name) == []
    finally:
        await clients.close()


async def test_clients_connect_while_cosmos_stands_still_and_find_it_when_it_is_back(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    settings = cloud.settings(bus_service, REQUEST_SECONDS="0.5")
    with frozen(cloud.cosmos.process):
        clients = await Clients.connect(settings)
        with as_request(), pytest.raises(ServiceSilentError, match="Cosmos DB"):
            async with clients.store._call("read"):
                pytest.fail("it cannot be connected")
    try:
        await clients.ensure_containers()
        async with clients.store._call("read"):
            pass
    finally:
        await clients.close()
