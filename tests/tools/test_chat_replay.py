"""The endpoint that answers from files, over real HTTP."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.azure.openai_client import CompletionOptions, Endpoint, OpenAIClient
from shared.core.errors import TransientError
from tests.support.services import ROOT


@pytest.fixture
def replay(tmp_path: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.chat_replay", str(tmp_path), "--wait", "0"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.communicate(timeout=30)


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[], Path]:
    return lambda: next(tmp_path.glob("*.request.json"))


async def test_a_question_is_written_and_answered_by_the_file_beside_it(
    replay: str, asked: Callable[[], Path]
) -> None:
    client = OpenAIClient(Endpoint(replay))
    options = CompletionOptions("anybody")
    try:
        with pytest.raises(TransientError, match=r"no \w{20}\.answer\.json"):
            await client.complete("Read.", "What came of it?", options)
        question = asked()
        assert json.loads(question.read_text())["messages"][1]["content"] == "What came of it?"
        question.with_name(question.name.replace("request", "answer")).write_text('{"genre": "call"}')
        answer = await client.complete("Read.", "What came of it?", options)
    finally:
        await client.close()
    assert answer.text == '{"genre": "call"}'
    assert answer.prompt_tokens > 0
