"""Child processes: started with the app's path, called by frames, and killed with all of their children."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from shared.core.child_processes import BlockingChild, ChildProcess, Command, available_cores, python_module
from shared.core.frames import Frame, FrameError

ECHO = """
import sys
from shared.core.frames import encode_frame, read_frame
while (frame := read_frame(sys.stdin.buffer)) is not None:
    sys.stdout.buffer.write(encode_frame(frame))
    sys.stdout.buffer.flush()
"""
PARENT = """
import subprocess, sys, pathlib
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
child.wait()
"""
NOISY = "import sys; sys.stderr.write('x' * 100_000 + '\\nthe reason\\n'); sys.exit(3)"
FRAME = Frame({"text": "ä"}, b"body")


def script(code: str, *arguments: str) -> Command:
    environment = python_module("any").environment
    return Command((sys.executable, "-c", code, *arguments), environment)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - another process makes the condition true
            await asyncio.sleep(0.01)


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_module_of_the_app_is_found_wherever_the_app_was_started() -> None:
    command = python_module("shared.ingestion.reader_process")
    assert list(command.arguments) == [sys.executable, "-m", "shared.ingestion.reader_process"]
    first = command.environment["PYTHONPATH"].split(os.pathsep)[0]
    assert (Path(first) / "function_app.py").is_file()


async def test_a_frame_is_answered_by_a_frame() -> None:
    child = await ChildProcess.start(script(ECHO))
    try:
        assert [await child.exchange(FRAME) for _ in range(2)] == [FRAME] * 2
    finally:
        await child.kill()
    assert child.returncode == -signal.SIGKILL
    await child.kill()  # a second kill does no harm


def test_a_thread_gets_its_answers_too_and_hears_of_the_end() -> None:
    child = BlockingChild(script(ECHO))
    child.send(FRAME)
    assert child.receive() == FRAME
    child.kill()
    with pytest.raises(FrameError, match="without an answer"):
        child.receive()
    child.close()
    assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_kill_takes_what_the_child_has_started(tmp_path: Path, *, blocking: bool) -> None:
    note = tmp_path / "pid"
    command = script(PARENT, str(note))
    child = BlockingChild(command) if blocking else await ChildProcess.start(command)
    await until(lambda: note.exists() and note.read_text() != "")
    grandchild = int(note.read_text())
    assert not is_gone(grandchild)
    if isinstance(child, BlockingChild):
        child.close()
    else:
        await child.kill()
    await until(lambda: is_gone(grandchild))


async def test_much_on_standard_error_does_not_block_and_its_end_is_kept() -> None:
    child = await ChildProcess.start(script(NOISY), stdin=asyncio.subprocess.DEVNULL)
    assert await child.wait() == 3
    words = await child.last_words()
    assert words[-1] == "the reason"
    assert sum(map(len, words)) < 5000
    await child.kill()


def test_cores_are_those_that_this_process_may_use() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
