"""Every call to a service: a way there, an effect at one instant, a way back; and what may go wrong on each."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tests.simulation.chance import ON_CALLS, Chance, Fault
from tests.simulation.loop import HOST, NOBODY, VirtualLoop
from tests.simulation.trace import Trace

Result = TypeVar("Result")
TIMEOUT = 30.0
RETRY_SECONDS = 0.2
SLOW_SECONDS = (5, 400)
PAUSE_SECONDS = (60, 700)


@dataclass(frozen=True)
class Errors:
    """The errors of a service's client, and whether its SDK sends again what may have arrived."""

    broken: Callable[[bool], Exception]  # whether the request had been sent
    refused: Callable[[Fault], Exception]
    resends: bool = True


class _RetriableError(Exception):
    """Holds an error of the client that its SDK retries."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


@dataclass
class Network:
    loop: VirtualLoop
    chance: Chance
    trace: Trace
    calls: dict[str, int] = field(default_factory=dict)
    is_down: Callable[[str], bool] = field(default=lambda _service: False)

    async def call(
        self, service: str, operation: str, effect: Callable[[], Result], errors: Errors, about: object = ""
    ) -> Result:
        """Retried as the SDK does it: quickly, and a few times."""
        retries = self.chance.plan.sdk_retries
        while True:
            try:
                return await _Call(self, f"{service}.{operation}", effect, errors, about).made(service)
            except _RetriableError as failed:
                if not retries:
                    raise failed.error from None
            retries -= 1
            await asyncio.sleep(RETRY_SECONDS)


class _Call(Generic[Result]):
    def __init__(
        self, network: Network, name: str, effect: Callable[[], Result], errors: Errors, about: object
    ) -> None:
        self._network, self._loop, self._chance = network, network.loop, network.chance
        self._name, self._effect, self._errors, self._about = name, effect, errors, about
        self._host = HOST.get()
        self._future: asyncio.Future[Result] = network.loop.create_future()
        self._fault: Fault | None = None

    async def made(self, service: str) -> Result:
        network, chance = self._network, self._chance
        network.calls[self._name] = network.calls.get(self._name, 0) + 1
        if self._host is not None:  # nobody disturbs the check of the end
            self._fault = Fault.REFUSE if network.is_down(service) else chance.strike(*ON_CALLS)
            if self._fault is not None and str(self._about).startswith("locks "):
                self._host.disturbed += 1
        there = chance.leg()
        if self._fault is Fault.SLOW:
            there += chance.draw.uniform(*SLOW_SECONDS)
        self._loop.call_later(there, self._arrive, context=NOBODY)
        return await self._future

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
            error = raised
        fault = self._fault
        self._note(type(error).__name__ if error is not None else "ok", (fault or "").upper())
        if fault is Fault.CRASH_AFTER:
            self._host.crash()
        elif fault is Fault.LOSE_ANSWER:
            broken = self._errors.broken(True)
            self._answer(_RetriableError(broken) if self._errors.resends else broken, after=TIMEOUT)
        else:
            if fault is Fault.PAUSE:
                self._host.pause(self._chance.draw.uniform(*PAUSE_SECONDS))
            self._answer(error, result)

    def _answer(self, error: Exception | None, result: Any = None, *, after: float = 0.0) -> None:
        self._loop.call_later(after + self._chance.leg(), self._tell, error, result, context=NOBODY)

    def _tell(self, error: Exception | None, result: Any) -> None:
        if self._future.done():
            return
        if error is not None:
            self._future.set_exception(error)
        else:
            self._future.set_result(result)

    def _note(self, *outcome: str) -> None:
        who = self._host.name if self._host is not None else "-"
        self._network.trace(self._loop.time(), who, self._name, self._about, *outcome)
