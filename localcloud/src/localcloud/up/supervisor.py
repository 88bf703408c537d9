"""Starts the services in order, watches them, and stops them all when one ends or the user stops them.

Nothing is restarted: if a service ends by itself, all stop and the exit code is 1. Storage, bus and database
services start in parallel. The Functions host, which loads the app in the meantime, comes last. They stop in
the reverse order.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from localcloud.up.catalogue import ServicePlan
from localcloud.up.child import Child, StartError
from localcloud.up.settings_file import CA_FILE

Say = Callable[[str], None]
WhenUp = Callable[[], Awaitable[int | None]]


class Supervisor:
    def __init__(
        self,
        plans: list[ServicePlan],
        *,
        root: Path,
        data: Path,
        say: Say,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._data = data
        self._say = say
        self._stopping = asyncio.Event()
        ca = data / CA_FILE
        self._children = [
            Child(plan, log=data / "logs" / f"{plan.name}.log", ca=ca, cwd=root, settings=settings)
            for plan in plans
        ]

    async def run(self, when_up: WhenUp) -> int:
        """Run until stopped and return the exit code. An exit code of `when_up` also ends the run."""
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(signum, self._stopping.set)
        try:
            if not await self._unless_stopped(self._start_all()):
                return 0
            return await self._watch(asyncio.ensure_future(when_up()))
        except StartError as error:
            self._say(f"error: {error}")
            return 1
        finally:
            await self._stop_all()

    async def _start_all(self) -> None:
        first = [child for child in self._children if not child.plan.needs]
        rest = [child for child in self._children if child.plan.needs]
        async with asyncio.TaskGroup() as group:
            for child in first:
                group.create_task(self._start(child))
            for child in rest:
                if child.plan.gate is not None:
                    group.create_task(child.begin())
        for child in rest:
            await self._start(child)

    async def _start(self, child: Child) -> None:
        began = time.monotonic()
        await child.start()
        took = time.monotonic() - began
        plan = child.plan
        self._say(f"  {plan.title:<24} {plan.address:<28} ready in {took:.1f} s")

    async def _unless_stopped(self, work: Coroutine[None, None, None]) -> bool:
        """Run the work unless a signal comes first. Return whether it ran to its end."""
        working = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not working.done():
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            return False
        try:
            working.result()
        except* StartError as group:
            raise group.exceptions[0] from None
        return True

    async def _watch(self, working: asyncio.Future[int | None]) -> int:
        """Wait for a signal, for the first service that ends by itself, or for an exit code of the work."""
        ends = {asyncio.create_task(child.wait()): child for child in self._children}
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            waiting: set[asyncio.Future[Any]] = {*ends, stopped, working}
            while True:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                ended = [(task.result(), ends[task]) for task in done if task in ends]
                for code, child in ended:
                    self._say(f"error: {child.plan.name} exited with code {code}. See {child.log}")
                if ended:
                    return 1
                if stopped in done:
                    return 0
                if (code := working.result()) is not None:
                    return code
        finally:
            everything: list[asyncio.Future[Any]] = [*ends, stopped, working]
            for task in everything:
                task.cancel()
            await asyncio.gather(*everything, return_exceptions=True)

    async def _stop_all(self) -> None:
        self._say("stopping ...")
        for with_needs in (True, False):
            children = [child for child in self._children if bool(child.plan.needs) is with_needs]
            ends = await asyncio.gather(*(child.stop() for child in children))
            for child, by_itself in zip(children, ends, strict=True):
                if not by_itself:
                    self._say(f"{child.plan.name} did not stop in time and was killed. See {child.log}")
        self._say("stopped.")
