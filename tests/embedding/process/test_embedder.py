"""The encoder's process, and how it recovers."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from shared.azure.classify import classify
from shared.core.errors import (
    EncoderCrashError,
    EncoderMemoryError,
    EncoderStartError,
    EncoderTimeoutError,
    ErrorKind,
    UnencodableTextError,
)
from shared.embedding.process import embedder as encoder_process
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess, ProcessOptions
from shared.embedding.process.text_queue import BatchRetryPolicy
from tests.embedding.toy_encoders import SPEC
from tests.support.measured import Measured
from tests.support.services import ROOT

Start = Callable[..., Any]


async def at_once(_seconds: float) -> None:
    """Do not wait between attempts. The waits are decisions, which test_batch_retries.py tests."""


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    started: list[EncoderProcess] = []

    async def begin(*, batch_seconds: float = 30.0, **arguments: Any) -> EncoderProcess:
        spec = EncoderSpec(SPEC, {"journal": str(tmp_path / "journal"), **arguments})
        options = ProcessOptions(batch_seconds=batch_seconds, start_seconds=60.0)
        embedder = await EncoderProcess.start(spec, options, sleep=at_once)
        started.append(embedder)
        return embedder

    yield begin
    for embedder in started:
        await embedder.close()


def journal(folder: Path) -> list[str]:
    return (folder / "journal").read_text().splitlines()


async def test_vectors_come_in_the_order_of_the_texts_whatever_their_lengths(start: Start) -> None:
    embedder = await start()
    texts = ["a " * count for count in (3, 30, 1, 16, 0, 7, 2, 12)]
    settled = await embedder.encode_each(texts)
    vectors = settled.complete()
    assert settled.truncated == (1,)
    assert vectors.dtype == np.float32
    assert vectors[:, 0].tolist() == [len(text) for text in texts]
    assert (embedder.model, embedder.backend, embedder.dimension, embedder.window) == ("toy", "toy", 4, 16)
    assert (await embedder.encode([])).shape == (0, 4)
    assert await embedder.count_tokens(texts) == [3, 30, 1, 16, 0, 7, 2, 12]


@pytest.mark.parametrize("fate", ["crash once", "oom-killed once", "hang once"])
@pytest.mark.requirement("R-407", "R-913")
async def test_an_encoder_that_dies_or_hangs_is_replaced_and_nothing_is_lost(
    start: Start, fate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Measured()
    monkeypatch.setattr(encoder_process, "pipeline_metrics", lambda: measured.metrics)
    embedder = await start(batch_seconds=1.0 if "hang" in fate else 30.0)
    texts = [f"text {number}" for number in range(20)] + [fate]
    settled = await embedder.encode_each(texts)
    assert not settled.failed
    assert settled.vectors[:, 0].tolist() == [len(text) for text in texts]
    assert embedder.restarts == 1
    assert measured.take("encoder_restarts_total") == {(): 1}


@pytest.mark.parametrize(
    ("fate", "cause"),
    [("crash", EncoderCrashError), ("oom-killed", EncoderMemoryError), ("hang", EncoderTimeoutError)],
)
@pytest.mark.requirement("R-406")
async def test_a_text_that_always_fails_has_four_attempts_the_last_alone_and_the_others_their_vectors(
    start: Start, tmp_path: Path, fate: str, cause: type[Exception]
) -> None:
    embedder = await start(batch_seconds=0.4 if fate == "hang" else 30.0)
    texts = [f"text {number}" for number in range(30)]
    texts[7] = fate
    settled = await embedder.encode_each(texts)
    assert list(settled.failed) == [7]
    assert isinstance(settled.failed[7].__cause__, cause)
    assert classify(settled.failed[7]).kind is ErrorKind.PERMANENT
    assert [v for i, v in enumerate(settled.vectors[:, 0]) if i != 7] == [
        len(text) for i, text in enumerate(texts) if i != 7
    ]
    tries = [line.split("|") for line in journal(tmp_path) if fate in line.split("|")]
    assert len(tries) == 4
    assert tries[-1] == [fate]
    with pytest.raises(UnencodableTextError, match="text 7"):
        settled.complete()


async def test_a_text_that_is_refused_is_cut_out_and_not_repeated_alone(start: Start, tmp_path: Path) -> None:
    embedder = await start()
    settled = await embedder.encode_each(["one", "refuse", "two"])
    assert list(settled.failed) == [1]
    assert "this text cannot be encoded" in str(settled.failed[1])
    assert journal(tmp_path).count("refuse") == 1
    assert embedder.restarts == 0


@pytest.mark.requirement("R-408")
async def test_batches_shrink_when_memory_is_short_and_grow_again_when_it_is_not(start: Start) -> None:
    embedder = await start(holds_tokens=40)
    texts = ["word " * 16 for _ in range(12)]
    settled = await embedder.encode_each(texts)
    assert not settled.failed
    assert embedder.token_budget == 32
    await embedder.encode(["one"] * 8 * 64)
    assert embedder.token_budget == 32
    for _ in range(50):
        await embedder.encode(["one"])
    assert embedder.token_budget == 64


async def test_a_text_is_not_blamed_when_the_encoder_fails_on_every_text(start: Start) -> None:
    embedder = await start(ill=True)
    with pytest.raises(EncoderCrashError) as raised:
        await embedder.encode_each(["one", "two", "three"])
    assert classify(raised.value).kind is ErrorKind.TRANSIENT


async def test_an_encoder_that_refuses_to_start_is_an_error_that_says_why(start: Start) -> None:
    with pytest.raises(EncoderStartError, match="the model is missing") as raised:
        await start(start="refuse")
    assert classify(raised.value).kind is ErrorKind.TRANSIENT


async def test_a_crash_while_starting_is_tried_again(start: Start) -> None:
    embedder = await start(start="crash once")
    assert (await embedder.encode(["one"])).shape == (1, 4)


async def test_an_encoder_killed_while_idle_is_replaced(start: Start) -> None:
    embedder = await start()
    await embedder.encode(["one"])
    os.kill(embedder.pid, signal.SIGKILL)
    assert (await embedder.encode(["one", "two"]))[:, 0].tolist() == [3, 3]
    assert embedder.restarts == 1


async def test_calls_that_overlap_each_get_their_own_vectors(start: Start) -> None:
    embedder = await start()
    calls = [["x" * (10 * call + at) for at in range(9)] for call in range(8)]
    results = await asyncio.gather(*(embedder.encode(texts) for texts in calls))
    for texts, vectors in zip(calls, results, strict=True):
        assert vectors[:, 0].tolist() == [len(text) for text in texts]


async def test_a_cancelled_call_does_not_leave_its_answer_to_the_next(start: Start, tmp_path: Path) -> None:
    embedder = await start(batch_seconds=2.0)  # the next batch waits for the end of the hanging batch
    hanging = asyncio.create_task(embedder.encode(["hang"]))
    notes = tmp_path / "journal"
    await asyncio.to_thread(_until, lambda: notes.exists() and "hang" in notes.read_text())
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert (await embedder.encode(["four"]))[:, 0].tolist() == [4]


async def test_the_event_loop_goes_on_while_texts_are_encoded(start: Start) -> None:
    embedder = await start(batch_seconds=1.0)
    encoding = asyncio.create_task(embedder.encode(["hang once"]))
    turns = 0
    while not encoding.done():
        await asyncio.sleep(0.02)
        turns += 1
    assert turns > 10


async def test_closing_ends_the_process_and_later_calls_say_so(start: Start) -> None:
    embedder = await start()
    pid = embedder.pid
    await embedder.close()
    assert not psutil.pid_exists(pid)
    with pytest.raises(EncoderStartError, match="closed"):
        await embedder.encode(["one"])


async def test_only_strings_are_texts(start: Start) -> None:
    embedder = await start()
    with pytest.raises(TypeError, match="sequence of strings"):
        await embedder.encode("one text")
    with pytest.raises(TypeError, match="sequence of strings"):
        await embedder.encode(["one", None])


OWNER = """
import asyncio, sys
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess
async def main():
    embedder = await EncoderProcess.start(EncoderSpec(sys.argv[1], {"journal": sys.argv[2]}))
    print(embedder.pid, flush=True)
    await embedder.encode(["hang"])
asyncio.run(main())
"""


def test_the_encoder_ends_with_its_owner_even_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    notes = tmp_path / "journal"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, SPEC, str(notes)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    _until(lambda: notes.exists() and "hang" in notes.read_text())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    _until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def _until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_the_default_is_four_attempts() -> None:
    assert ProcessOptions().attempts == BatchRetryPolicy(max_retries=3)
