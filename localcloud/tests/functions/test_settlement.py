"""Settlement of messages by the host, by the function, or not at all."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import azure.functions as func
import pytest
from azure.servicebus import ServiceBusReceivedMessage

from localcloud.functions.actions import MessageActions, SettlementError, detached
from localcloud.functions.definitions import CallPlan, Function, ServiceBusTrigger
from localcloud.functions.dispatch import Dispatcher
from localcloud.functions.hostconfig import ServiceBusOptions
from localcloud.functions.invocation import Invoker
from localcloud.functions.settlement import Settlement, keep_locked
from tests.functions.messages_support import LOST, RecordingReceiver, received


@pytest.mark.parametrize(
    ("succeeded", "auto_complete", "settled", "expected"),
    [
        (True, True, False, ["complete"]),
        (True, False, False, []),
        (False, True, False, ["abandon"]),
        (False, False, False, ["abandon"]),
        (True, True, True, ["defer"]),
        (False, True, True, ["defer"]),
    ],
)
async def test_the_settlement_of_a_message(
    succeeded: bool, auto_complete: bool, settled: bool, expected: list[str]
) -> None:
    receiver, message = RecordingReceiver(), received()
    settlement = Settlement(receiver, message)
    if settled:
        await settlement.settle("defer", str(message.lock_token))
    await settlement.finish(succeeded=succeeded, auto_complete=auto_complete)
    assert [operation for operation, _ in receiver.done] == expected


@pytest.fixture
async def invoker() -> AsyncIterator[Invoker]:
    made = Invoker(timeout_seconds=30)
    yield made
    await made.close()


def dispatcher(
    invoker: Invoker,
    call: Callable[..., Any],
    *,
    actions: bool = False,
    auto_complete: bool | None = None,
    options: ServiceBusOptions | None = None,
) -> Dispatcher:
    trigger = ServiceBusTrigger("BUS", "orders", auto_complete)
    plan = CallPlan(
        call=call,
        is_async=asyncio.iscoroutinefunction(call),
        trigger_parameter="msg",
        sdk_message=actions,
        takes_context=False,
        actions_parameter="actions" if actions else None,
        returns_response=False,
    )
    return Dispatcher(Function("f", trigger, plan, (), ""), trigger, options or ServiceBusOptions(), invoker)


def accept(msg: func.ServiceBusMessage) -> None:
    assert msg.get_body()


def refuse(msg: func.ServiceBusMessage) -> None:
    raise RuntimeError("refused")


async def test_a_message_whose_function_succeeds_is_completed(invoker: Invoker) -> None:
    receiver = RecordingReceiver()
    await dispatcher(invoker, accept).dispatch(receiver, received(b"a"))
    assert receiver.done == [("complete", "a")]


async def test_a_message_whose_function_raises_is_abandoned(invoker: Invoker) -> None:
    receiver = RecordingReceiver()
    await dispatcher(invoker, refuse).dispatch(receiver, received(b"a"))
    assert receiver.done == [("abandon", "a")]


@pytest.mark.parametrize(
    ("of_host", "of_trigger", "expected"),
    [(True, None, True), (False, None, False), (True, False, False), (False, True, True)],
)
async def test_auto_complete_of_the_trigger_goes_before_that_of_host_json(
    invoker: Invoker, of_host: bool, of_trigger: bool | None, expected: bool
) -> None:
    receiver = RecordingReceiver()
    options = ServiceBusOptions(auto_complete_messages=of_host)
    await dispatcher(invoker, accept, auto_complete=of_trigger, options=options).dispatch(
        receiver, received()
    )
    assert receiver.done == ([("complete", "body")] if expected else [])


async def test_a_failure_is_abandoned_even_without_auto_complete(invoker: Invoker) -> None:
    receiver = RecordingReceiver()
    await dispatcher(invoker, refuse, auto_complete=False).dispatch(receiver, received())
    assert receiver.done == [("abandon", "body")]


async def test_a_settlement_that_fails_is_logged_and_does_not_stop_the_next(
    invoker: Invoker, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = RecordingReceiver(fail=LOST)
    await dispatcher(invoker, accept).dispatch(receiver, received(message_id="m-1"))
    assert "could not complete message m-1 (it will be redelivered)" in caplog.text


async def test_a_canceled_function_leaves_its_message_abandoned(invoker: Invoker) -> None:
    receiver = RecordingReceiver()
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def hang(msg: func.ServiceBusMessage) -> None:
        loop.call_soon_threadsafe(started.set)
        await asyncio.sleep(3600)

    running = asyncio.create_task(dispatcher(invoker, hang).dispatch(receiver, received()))
    await started.wait()
    await invoker.drain(0.05)
    assert receiver.done == [("abandon", "body")]
    assert running.cancelled()


async def test_a_function_over_its_time_has_its_message_abandoned() -> None:
    quick = Invoker(timeout_seconds=0.2)
    receiver = RecordingReceiver()

    async def hang(msg: func.ServiceBusMessage) -> None:
        await asyncio.sleep(3600)

    await dispatcher(quick, hang).dispatch(receiver, received())
    await quick.close()
    assert receiver.done == [("abandon", "body")]


SETTLING: dict[str, Callable[[Any, Any], None]] = {
    "complete": lambda actions, msg: actions.complete(msg),
    "abandon": lambda actions, msg: actions.abandon(msg),
    "defer": lambda actions, msg: actions.defer(msg),
    "dead_letter": lambda actions, msg: actions.deadletter(
        msg, deadletter_reason="permanent", deadletter_error_description="no such archive"
    ),
}


@pytest.mark.parametrize("operation", SETTLING)
@pytest.mark.parametrize("fails", [False, True])
async def test_a_message_that_the_function_settled_is_left_alone(
    invoker: Invoker, operation: str, fails: bool
) -> None:
    receiver = RecordingReceiver()

    def settle(msg: ServiceBusReceivedMessage, actions: MessageActions) -> None:
        SETTLING[operation](actions, msg)
        if fails:
            raise RuntimeError("after settling")

    await dispatcher(invoker, settle, actions=True).dispatch(receiver, received())
    assert receiver.done == [(operation, "body")]
    if operation == "dead_letter":
        assert receiver.details == {"reason": "permanent", "error_description": "no such archive"}


async def test_a_function_can_renew_its_lock(invoker: Invoker) -> None:
    receiver = RecordingReceiver()

    def renew(msg: ServiceBusReceivedMessage, actions: MessageActions) -> None:
        actions.renew_message_lock(msg)

    await dispatcher(invoker, renew, actions=True).dispatch(receiver, received())
    assert receiver.done == [("renew", "body"), ("complete", "body")]


async def test_an_async_function_can_settle_too(invoker: Invoker) -> None:
    receiver = RecordingReceiver()

    async def settle(msg: ServiceBusReceivedMessage, actions: MessageActions) -> None:
        actions.complete(msg)

    await dispatcher(invoker, settle, actions=True, auto_complete=False).dispatch(receiver, received())
    assert receiver.done == [("complete", "body")]


async def test_settling_twice_or_a_foreign_message_is_an_error_with_its_reason(invoker: Invoker) -> None:
    receiver = RecordingReceiver()
    errors: list[SettlementError] = []

    def settle(msg: ServiceBusReceivedMessage, actions: MessageActions) -> None:
        actions.complete(msg)
        for attempt in (msg, detached(received())):
            try:
                actions.abandon(attempt)
            except SettlementError as error:
                errors.append(error)

    await dispatcher(invoker, settle, actions=True).dispatch(receiver, received())
    assert receiver.done == [("complete", "body")]
    assert [error.method for error in errors] == ["abandon", "abandon"]
    assert all("no unsettled message of this invocation has the lock token" in str(error) for error in errors)


async def test_a_settlement_that_the_broker_refuses_reaches_the_function(invoker: Invoker) -> None:
    receiver = RecordingReceiver(fail=LOST)
    errors: list[Exception] = []

    def settle(msg: ServiceBusReceivedMessage, actions: MessageActions) -> None:
        try:
            actions.complete(msg)
        except SettlementError as error:
            errors.append(error)

    await dispatcher(invoker, settle, actions=True, auto_complete=False).dispatch(receiver, received())
    assert "Failed to complete message" in str(errors[0])
    assert "lock has expired" in str(errors[0])


async def test_after_the_invocation_nothing_can_be_settled_any_more() -> None:
    message = received()
    settlement = Settlement(RecordingReceiver(), message)
    await settlement.finish(succeeded=True, auto_complete=False)
    with pytest.raises(LookupError, match="the invocation is over"):
        await settlement.settle("complete", str(message.lock_token))


def test_sessions_are_refused() -> None:
    loop = asyncio.new_event_loop()
    actions = MessageActions(Settlement(RecordingReceiver(), received()), loop)
    loop.close()
    with pytest.raises(SettlementError, match="the dev host has no sessions"):
        actions.release_session("s")
    with pytest.raises(SettlementError, match="the dev host has no sessions"):
        actions.renew_session_lock("s")
    with pytest.raises(SettlementError, match="the dev host has no sessions"):
        actions.set_session_state("s", b"")


async def test_the_lock_is_renewed_as_long_as_the_function_runs(invoker: Invoker) -> None:
    receiver = RecordingReceiver(lock_seconds=0.6)

    def work(msg: func.ServiceBusMessage) -> None:
        deadline = time.monotonic() + 10
        while receiver.done.count(("renew", "body")) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    await dispatcher(invoker, work).dispatch(receiver, received(locked_seconds=0.6))
    assert receiver.done[-1] == ("complete", "body")
    count = len(receiver.done)
    await asyncio.sleep(0.7)
    assert len(receiver.done) == count, "the lock was renewed after the function had ended"


async def test_a_lock_is_not_renewed_with_renewal_off(invoker: Invoker) -> None:
    receiver = RecordingReceiver(lock_seconds=0.4)
    options = ServiceBusOptions(max_auto_lock_renewal_seconds=0.0)

    def work(msg: Any) -> None:
        time.sleep(0.5)

    await dispatcher(invoker, work, options=options).dispatch(receiver, received(locked_seconds=0.4))
    assert receiver.done == [("complete", "body")]


async def test_renewal_ends_when_its_time_is_up() -> None:
    receiver = RecordingReceiver(lock_seconds=0.4)
    await asyncio.wait_for(keep_locked(receiver, received(locked_seconds=0.4), max_seconds=0.5), 5)
    assert 1 <= len(receiver.done) <= 2


async def test_a_lock_that_cannot_be_renewed_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    receiver = RecordingReceiver(fail=LOST)
    message = received(locked_seconds=0.4, message_id="m-1")
    await asyncio.wait_for(keep_locked(receiver, message, max_seconds=-1), 5)
    assert caplog.text.count("the lock of message m-1 could not be renewed") == 1
