"""Local services as processes of their own, on free ports and in folders of their own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from localcloud.lifeline import LIFELINE_VARIABLE
from localcloud.service import READY_PREFIX

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = ROOT.parent


@dataclass
class RunningService:
    process: "subprocess.Popen[str]"
    addresses: dict[str, str]
    log: Path

    def kill(self) -> None:
        """As `kill -9` would."""
        self.process.kill()
        self.process.wait()

    def stop(self, timeout: float = 15) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)


def start_service(
    module: str,
    *arguments: str,
    data: Path,
    port: int = 0,
    env: Mapping[str, str] | None = None,
    tree: Path = ROOT,
) -> RunningService:
    """Start `python -m module` of this tree and wait until it says that it is ready."""
    data.mkdir(parents=True, exist_ok=True)
    log = data.with_name(f"{data.name}.log")
    with log.open("ab") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", module, "--port", str(port), "--data", str(data), *arguments],
            cwd=tree,
            env={**os.environ, **(env or {}), LIFELINE_VARIABLE: "stdin"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith(READY_PREFIX):
        process.kill()
        process.communicate()  # closes its pipes as well
        raise AssertionError(f"{module} did not start:\n{log.read_text()}")
    return RunningService(process, json.loads(line.removeprefix(READY_PREFIX)), log)


@contextmanager
def running_service(module: str, *arguments: str, data: Path, port: int = 0) -> Iterator[RunningService]:
    service = start_service(module, *arguments, data=data, port=port)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()
        for stream in (service.process.stdin, service.process.stdout):
            if stream is not None:
                stream.close()
