"""The dev host as a process: start, failed start, draining and exit."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localcloud.lifeline import LIFELINE_VARIABLE
from tests.functions.support import (
    EXAMPLE_APP,
    HEADER,
    NO_BROKER,
    lines,
    running_host,
    wait_for,
    write_app,
)
from tests.support.services import ROOT

SLOW = (
    HEADER
    + """
import asyncio, time

@app.route(route="slow")
async def slow(req: func.HttpRequest) -> str:
    await asyncio.sleep(float(req.params["seconds"]))
    return "ended"

@app.route(route="stuck")
def stuck(req: func.HttpRequest) -> str:
    time.sleep(600)
    return "never"
"""
)


def run(root: Path, data: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the host to its end, for a host that cannot start."""
    command = [
        sys.executable,
        "-m",
        "localcloud.functions",
        "--root",
        str(root),
        "--data",
        str(data),
        *arguments,
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_an_app_with_problems_is_refused_with_all_of_them_and_exit_code_1(tmp_path: Path) -> None:
    code = (
        HEADER
        + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="%QUEUE_NOT_SET%", connection="BUS_NOT_SET")
def on_message(msg: func.ServiceBusMessage): ...

@app.timer_trigger(arg_name="t", schedule="never")
def tick(t: func.TimerRequest): ...
"""
    )
    ended = run(write_app(tmp_path / "app", code), tmp_path / "data", "--port", "0")
    assert ended.returncode == 1
    assert ended.stdout == ""
    listed = [line for line in ended.stderr.splitlines() if line.startswith("  - ")]
    assert len(listed) == 3
    assert "%QUEUE_NOT_SET%" in listed[0]
    assert "connection 'BUS_NOT_SET' is not set" in listed[1]
    assert "function tick: schedule 'never'" in listed[2]
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_taken_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run(write_app(tmp_path / "app"), tmp_path / "data", "--port", port)
    assert ended.returncode == 1
    assert "address already in use" in ended.stderr.lower()
    assert "Traceback" not in ended.stderr


def test_an_app_that_cannot_be_imported_shows_its_traceback(tmp_path: Path) -> None:
    ended = run(write_app(tmp_path / "app", HEADER + "import not_installed_anywhere"), tmp_path / "data")
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr
    assert "function_app.py: its import failed (ModuleNotFoundError" in ended.stderr


def test_the_host_listens_on_loopback_only(tmp_path: Path) -> None:
    with running_host(write_app(tmp_path / "app"), tmp_path / "data") as host:
        assert host.url.startswith("http://127.0.0.1:")
        port = int(host.url.rpartition(":")[2])
        listening = subprocess.run(
            ["cat", "/proc/net/tcp"], capture_output=True, text=True, check=True
        ).stdout
        entries = [line.split() for line in listening.splitlines() if f":{port:04X} " in line]
        assert {entry[1] for entry in entries if entry[3] == "0A"} == {f"0100007F:{port:04X}"}


def test_the_app_prints_to_the_log_and_not_before_the_ready_line(tmp_path: Path) -> None:
    code = (
        "print('while importing')\n"
        + HEADER
        + """
@app.route(route="says")
def says(req: func.HttpRequest) -> str:
    print("while running", "x" * 200_000)  # more than a pipe holds, which nobody reads
    return "said"
"""
    )
    with running_host(write_app(tmp_path / "app", code), tmp_path / "data") as host:
        assert host.get("/api/says").text == "said"
        assert "while importing" in host.log
        wait_for(lambda: "while running" in host.log)


def test_the_app_runs_in_its_own_folder_with_its_settings(tmp_path: Path) -> None:
    code = (
        HEADER
        + """
import os

@app.route(route="where")
def where(req: func.HttpRequest) -> str:
    names = ("A", "B", "FUNCTIONS_WORKER_RUNTIME", "AZURE_FUNCTIONS_ENVIRONMENT")
    return "|".join([os.getcwd(), *(os.environ[name] for name in names)])
"""
    )
    root = write_app(tmp_path / "app", code, settings={"Values": {"A": "file", "B": "file"}})
    with running_host(root, tmp_path / "data", B="environment") as host:
        assert host.get("/api/where").text == f"{root}|file|environment|python|Development"


def test_sigterm_lets_requests_end_and_then_exits_0(tmp_path: Path) -> None:
    with (
        running_host(write_app(tmp_path / "app", SLOW), tmp_path / "data") as host,
        ThreadPoolExecutor(1) as pool,
    ):
        request = pool.submit(host.get, "/api/slow?seconds=1")
        wait_for(lambda: "Executing 'Functions.slow'" in host.log)
        assert host.service.stop() == 0
        assert request.result().text == "ended"
        assert "Executed 'Functions.slow' (Succeeded" in host.log


@pytest.mark.parametrize("path", ["slow?seconds=600", "stuck"])
def test_a_late_invocation_is_canceled(tmp_path: Path, path: str) -> None:
    root = write_app(tmp_path / "app", SLOW)
    with (
        running_host(root, tmp_path / "data", "--drain-seconds", "0.5") as host,
        ThreadPoolExecutor(1) as pool,
    ):
        request = pool.submit(host.get, f"/api/{path}")
        wait_for(lambda: "Executing 'Functions." in host.log)
        started = time.monotonic()
        assert host.service.stop() == 0
        assert time.monotonic() - started < 10
        assert "1 invocation(s) did not end in time and are canceled" in host.log
        assert request.exception() is not None or request.result().status == 500


def test_a_timer_whose_time_came_while_the_host_was_down_fires_past_due(tmp_path: Path) -> None:
    code = (
        HEADER
        + """
import json, os

@app.timer_trigger(arg_name="timer", schedule="0 0 * * * *")
def tick(timer: func.TimerRequest) -> None:
    with open(os.environ["OUTPUT"], "a") as file:
        file.write(json.dumps(timer.past_due) + "\\n")
"""
    )
    root, output = write_app(tmp_path / "app", code), tmp_path / "ticks"
    with running_host(root, tmp_path / "data", OUTPUT=str(output)):
        record = tmp_path / "data" / "timers" / "tick.json"
        wait_for(record.exists)
    long_ago = {
        "Last": "2020-01-01T10:00:00Z",
        "Next": "2020-01-01T11:00:00Z",
        "LastUpdated": "2020-01-01T10:00:00Z",
    }
    record.write_text(json.dumps(long_ago))
    with running_host(root, tmp_path / "data", OUTPUT=str(output)) as host:
        assert wait_for(lambda: lines(output)) == [True]
        assert "timer tick is past due" in host.log


def test_the_host_ends_with_its_parent(tmp_path: Path) -> None:
    root = write_app(tmp_path / "app")
    command = [sys.executable, "-m", "localcloud.functions", "--root", str(root), "--port", "0"]
    child = subprocess.Popen(
        [*command, "--data", str(tmp_path / "data")],
        cwd=ROOT,
        env={**os.environ, LIFELINE_VARIABLE: "stdin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline().startswith(b"READY ")
    child.stdin.close()
    assert child.wait(20) == 0
    child.stdout.close()


def test_a_broker_that_is_away_is_logged_once_and_stops_nothing(tmp_path: Path) -> None:
    environ = {
        "BUS": NO_BROKER,
        "ORDERS_QUEUE": "orders",
        "TICK_SCHEDULE": "0 0 0 1 1 *",
        "EXAMPLE_OUTPUT": str(tmp_path),
    }
    with running_host(EXAMPLE_APP, tmp_path / "data", "--log-level", "DEBUG", **environ) as host:
        wait_for(lambda: host.log.count("cannot receive from") == 2)
        assert host.get("/api/text").status == 200
        wait_for(lambda: host.log.count("still down") >= 2)  # further attempts, logged at DEBUG
        assert host.log.count("cannot receive from") == 2
        host.service.process.send_signal(signal.SIGINT)
        assert host.service.process.wait(15) == 0
