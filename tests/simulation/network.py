"""Calls to services: a way there, an effect at one instant, a way back, and the faults of each."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from azure.core.exceptions import AzureError

from tests.simulation.chance import ON_CALLS, Chance, Fault
from tests.simulation.loop import HOST, NOBODY, VirtualLoop
from tests.simulation.trace import Trace

Result = TypeVar("Result")
TIMEOUT = 30.0
RETRY_SECONDS = 0.2
SLOW_SECONDS = (5, 400)
# AI Search has no conditional write, so a write that arrives long after its caller gave up would look newer.
# A slow write therefore arrives before its caller's deadline.
LATEST = {"search": 25.0}
PAUSE_SECONDS = (60, 700)


@dataclass(frozen=True)
class Errors:
    """The errors of a service's client, and whether its SDK resends requests that may have arrived."""

    broken: Callable[[bool], Exception]  # whether the request had been sent
    refused: Callable[[Fault], Exception]
    resends: bool = True


class _RetriableError(Exception):
    """An error of the client that its SDK retries."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


@dataclass
class Network:
    loop: VirtualLoop
    chance: Chance
    trace: Trace
    calls: int = 0
    is_down: Callable[[str], bool] = field(default=lambda _service: False)

    async def call(
        self, service: str, operation: str, effect: Callable[[], Result], errors: Errors, about: object = ""
    ) -> Result:
        """Retry as the SDK does: quickly, and a few times."""
        retries = self.chance.plan.sdk_retries
        while True:
            try:
                return await _Call(self, service, operation, effect, errors, about).future
            except _RetriableError as failed:
                if not retries:
                    raise failed.error from None
            retries -= 1
            await asyncio.sleep(RETRY_SECONDS)


def _from_afar(error: Exception) -> Exception:
    """Strip the service's own frames, which only the collector could free."""
    error.__context__ = None
    if isinstance(error, AzureError):
        error.exc_type = error.exc_value = error.exc_traceback = None
    return error.with_traceback(None)


class _Call(Generic[Result]):
    __slots__ = (
        "_about",
        "_effect",
        "_errors",
        "_fault",
        "_host",
        "_network",
        "_operation",
        "_service",
        "future",
    )

    def __init__(
        self,
        network: Network,
        service: str,
        operation: str,
        effect: Callable[[], Result],
        errors: Errors,
        about: object,
    ) -> None:
        self._network, self._service, self._operation = network, service, operation
        self._effect, self._errors, self._about = effect, errors, about
        self._host = HOST.get()
        self.future: asyncio.Future[Result] = network.loop.create_future()
        self._fault: Fault | None = None
        network.calls += 1
        if self._host is not None:  # the final check has no faults
            self._fault = self._strike()
        there = network.chance.leg()
        if self._fault is Fault.SLOW:
            there += min(network.chance.draw.uniform(*SLOW_SECONDS), LATEST.get(service, SLOW_SECONDS[1]))
        network.loop.call_later(there, self._arrive, context=NOBODY)

    def _strike(self) -> Fault | None:
        network = self._network
        if network.is_down(self._service):
            fault: Fault | None = Fault.REFUSE
        elif network.chance.left > 0:
            fault = network.chance.strike(*ON_CALLS)
        else:
            return None
        if fault is not None and str(self._about).startswith("locks "):
            self._host.disturbed += 1
        return fault

    def _arrive(self) -> None:
        fault = self._fault
        if fault is Fault.CRASH_BEFORE:
            self._note("CRASH BEFORE")
            self._host.crash()
        elif fault is Fault.LOSE_REQUEST:
            self._note("REQUEST LOST")
            self._answer(_RetriableError(self._errors.broken(False)), after=TIMEOUT)
        elif fault in (Fault.REFUSE, Fault.THROTTLE):
            self._note(fault.upper())
            self._answer(_RetriableError(self._errors.refused(fault)))
        else:
            self._take_effect()

    def _take_effect(self) -> None:
        error, result = None, None
        try:
            result = self._effect()
        except Exception as raised:  # noqa: BLE001 - the caller gets it, if the answer arrives
            error = _from_afar(raised)
        fault = self._fault
        self._note(type(error).__name__ if error is not None else "ok", (fault or "").upper())
        if fault is Fault.CRASH_AFTER:
            self._host.crash()
        elif fault is Fault.LOSE_ANSWER:
            broken = self._errors.broken(True)
            self._answer(_RetriableError(broken) if self._errors.resends else broken, after=TIMEOUT)
        else:
            if fault is Fault.PAUSE:
                self._host.pause(self._network.chance.draw.uniform(*PAUSE_SECONDS))
            self._answer(error, result)

    def _answer(self, error: Exception | None, result: Any = None, *, after: float = 0.0) -> None:
        self._network.loop.call_later(
            after + self._network.chance.leg(), self._tell, error, result, context=NOBODY
        )

    def _tell(self, error: Exception | None, result: Any) -> None:
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)

    def _note(self, *outcome: str) -> None:
        who = self._host.name if self._host is not None else "-"
        self._network.trace(
            self._network.loop.time(), who, f"{self._service}.{self._operation}", self._about, *outcome
        )
