import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for unused in sockets:
            unused.bind(("127.0.0.1", 0))
        return [socket.getsockname()[1] for socket in sockets]
    finally:
        for unused in sockets:
            unused.close()


@contextmanager
def supervisor(data: Path, *services: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.up.toy_up", str(data), *services],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def read_until_up(process: "subprocess.Popen[str]") -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    while (line := process.stdout.readline()) and line != "UP\n":
        lines.append(line.rstrip())
    assert line == "UP\n", lines
    return lines


def ask(port: int, path: str = "/") -> int:
    """Return the pid of the service on this port."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return int(answer.read())


def wait_until_gone(pids: list[int], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while alive := [pid for pid in pids if psutil.pid_exists(pid)]:
        assert time.monotonic() < deadline, f"still running: {alive}"
        time.sleep(0.05)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_all_in_order_and_leaves_nothing(tmp_path: Path, signum: signal.Signals) -> None:
    first, second = free_ports(2)
    with supervisor(tmp_path, f"a:{first}:well", f"host:{second}:well") as process:
        lines = read_until_up(process)
        assert [line.split()[0] for line in lines] == ["A", "Host"]
        assert all("ready in" in line for line in lines)
        pids = [ask(first), ask(second)]
        process.send_signal(signum)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert output.endswith("stopped.\n")
    wait_until_gone(pids, 0)
    for name in ("a", "host"):
        assert "stopped in order" in (tmp_path / "logs" / f"{name}.log").read_text()


def test_killed_by_force_its_children_end_within_seconds(tmp_path: Path) -> None:
    first, second = free_ports(2)
    with supervisor(tmp_path, f"a:{first}:well", f"host:{second}:well") as process:
        read_until_up(process)
        pids = [ask(first), ask(second)]
        process.kill()
        wait_until_gone(pids)


def test_even_a_child_that_ignores_signals_ends_with_a_killed_supervisor(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with supervisor(tmp_path, f"a:{port}:stubborn") as process:
        read_until_up(process)
        pids = [ask(port)]
        process.kill()
        wait_until_gone(pids)


def test_a_service_that_ends_by_itself_stops_all_and_is_named(tmp_path: Path) -> None:
    first, second = free_ports(2)
    with supervisor(tmp_path, f"a:{first}:well", f"b:{second}:well") as process:
        read_until_up(process)
        other = ask(first)
        ask(second, "/die")
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "error: b exited with code 7" in output
    wait_until_gone([other], 0)


@pytest.mark.parametrize("code", [0, 3])
def test_work_that_ends_with_a_code_ends_all_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setenv("TOY_CODE", str(code))
    (port,) = free_ports(1)
    with supervisor(tmp_path, f"a:{port}:well") as process:
        output, _ = process.communicate(timeout=20)
    assert process.returncode == code
    assert output.endswith("stopped.\n")


def test_a_service_that_does_not_start_is_reported_with_its_output(tmp_path: Path) -> None:
    first, second = free_ports(2)
    with supervisor(tmp_path, f"a:{first}:well", f"b:{second}:refuse") as process:
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "error: b exited with code 1 while starting" in output
    assert "toy: no" in output
    assert "UP" not in output
    with pytest.raises(OSError, match="refused"):
        ask(first)


def test_a_port_taken_by_another_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with supervisor(tmp_path, f"a:{listener.getsockname()[1]}:well") as process:
            output, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "address already in use" in output.lower()
    assert "Traceback" not in output
