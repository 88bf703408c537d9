"""Services as child processes for an app's tests, each on a free port and with its own folder."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias

from localcloud.lifeline import LIFELINE_VARIABLE, READY_PREFIX
from localcloud.ports import Ports
from localcloud.up.catalogue import plan_storage
from localcloud.up.settings_file import settings_of

STORAGE = "storage"
AZURITE_IS_UP, AZURITE_SECONDS, POLL_SECONDS = "Table service is successfully listening", 60.0, 0.02
FAULTS = ("cosmos", "search", "servicebus")
"""Services that support fault plans."""


@dataclass
class Service:
    """A running service."""

    name: str
    process: "subprocess.Popen[str]"
    addresses: dict[str, str]
    log: Path

    @property
    def settings(self) -> dict[str, str]:
        """The settings that an app needs to use the service."""
        return settings_of(self.name, self.addresses)

    def kill(self) -> None:
        """Kill the process, as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    def stop(self, timeout: float = 20) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)


class LocalCloud:
    """A group of services, which leaving the context stops.

    with LocalCloud(folder, "cosmos", "servicebus", config=Path("Config.json")) as cloud:
        os.environ.update(cloud.settings)
    """

    Service: TypeAlias = Service
    settings_of = staticmethod(settings_of)

    def __init__(self, folder: Path, *names: str, config: Path | None = None) -> None:
        self._folder, self._names, self._config = folder, names, config
        self._stack = ExitStack()
        self.services: dict[str, Service] = {}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for name in self._names:
                arguments = ["--faults"] if name in FAULTS else []
                if name == "servicebus":
                    arguments += ["--admin-port", "0", "--config", str(self._config)]
                running = self.running(name, *arguments, data=self._folder / name)
                self.services[name] = stack.enter_context(running)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def settings(self) -> dict[str, str]:
        return {name: value for service in self.services.values() for name, value in service.settings.items()}

    @staticmethod
    def start(
        name: str,
        *arguments: str,
        data: Path,
        port: int = 0,
        env: Mapping[str, str] | None = None,
        tree: Path | None = None,
    ) -> Service:
        """Start a service and wait until it is ready. `tree` is its working directory."""
        data.mkdir(parents=True, exist_ok=True)
        log = data.with_name(f"{data.name}.log")
        if name == STORAGE:
            return _start_storage(*arguments, data=data, port=port, log=log)
        command = [sys.executable, "-m", f"localcloud.{name}", "--port", str(port), "--data", str(data)]
        with log.open("ab") as stderr:
            process = subprocess.Popen(  # noqa: S603 - a command of this module
                [*command, *arguments],
                cwd=tree,
                env={**os.environ, **(env or {}), LIFELINE_VARIABLE: "stdin"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        line = process.stdout.readline() if process.stdout is not None else ""
        if not line.startswith(READY_PREFIX):
            process.kill()
            process.communicate()  # also closes its pipes
            raise RuntimeError(f"{name} did not start:\n{log.read_text()}")
        return Service(name, process, json.loads(line.removeprefix(READY_PREFIX)), log)

    @staticmethod
    @contextmanager
    def running(name: str, *arguments: str, data: Path, port: int = 0) -> Iterator[Service]:
        service = LocalCloud.start(name, *arguments, data=data, port=port)
        try:
            yield service
        finally:
            if service.process.poll() is None:
                service.stop()
            for stream in (service.process.stdin, service.process.stdout):
                if stream is not None:
                    stream.close()


def _start_storage(*arguments: str, data: Path, port: int, log: Path) -> Service:
    plan = plan_storage(Ports(port, 0, 0), data)
    began = log.stat().st_size if log.exists() else 0
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - Azurite
            [*(part for part in plan.command if part != "--silent"), *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            text=True,
            env={LIFELINE_VARIABLE: "stdin", "PATH": "/usr/bin:/bin"},
        )
    deadline = time.monotonic() + AZURITE_SECONDS
    while AZURITE_IS_UP not in (text := log.read_bytes()[began:].decode("utf-8", "replace")):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            process.communicate()
            raise RuntimeError(f"Azurite did not start:\n{text}")
        time.sleep(POLL_SECONDS)
    blob = next(line.split()[-1] for line in text.splitlines() if "Blob service is successfully" in line)
    return Service(STORAGE, process, {"blob": blob}, log)
