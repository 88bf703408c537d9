"""An OpenAI-compatible endpoint that answers from files: `python -m tools.chat_replay DIR`.

Each request is written to DIR as `<key>.request.json`, and its answer is read from `<key>.answer.json`. The
key is a hash of the conversation, so the same question has the same answer. The endpoint waits for a missing
answer, up to a limit, so that another program or a person can write the answer. The endpoint prints its
address as one line of JSON and ends when its standard input ends.
"""

import argparse
import asyncio
import hashlib
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.web_server import HttpServer, Request, Response, json_response

POLL_SECONDS = 0.2
_CHARS_PER_TOKEN = 4
_PATH = "/v1/chat/completions"


def key_of(asked: dict[str, Any]) -> str:
    """The same conversation has the same key, whatever the model and the other options."""
    conversation = json.dumps(asked.get("messages"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(conversation.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Replay:
    folder: Path
    wait_seconds: float
    is_recorded: bool = False
    """Nothing is written, and what was not recorded is answered with nothing."""

    async def handle(self, request: Request) -> Response:
        if not request.path.endswith("/chat/completions"):
            return _problem(404, f"there is only {_PATH}")
        try:
            asked = json.loads(request.body)
        except ValueError as error:
            return _problem(400, f"the request is no JSON: {error}")
        if not isinstance(asked, dict) or not isinstance(asked.get("messages"), list):
            return _problem(400, "the request has no messages")
        key = key_of(asked)
        if self.is_recorded:
            file = self.folder / f"{key}.answer.json"
            is_there = await asyncio.to_thread(file.exists)
            recorded = await asyncio.to_thread(file.read_text, encoding="utf-8") if is_there else ""
            return json_response(200, _completion(asked, recorded))
        await asyncio.to_thread(
            _write, self.folder / f"{key}.request.json", json.dumps(asked, indent=1, ensure_ascii=False)
        )
        content = await self._answer(self.folder / f"{key}.answer.json")
        if content is None:
            return _problem(
                503, f"no {key}.answer.json within {self.wait_seconds:g} s; write it and ask again"
            )
        return json_response(200, _completion(asked, content))

    async def _answer(self, file: Path) -> str | None:
        """The answer's text, as soon as its file is there."""
        waited = 0.0
        while not await asyncio.to_thread(file.exists):
            if waited >= self.wait_seconds:
                return None
            await asyncio.sleep(POLL_SECONDS)
            waited += POLL_SECONDS
        return await asyncio.to_thread(file.read_text, encoding="utf-8")


def _write(file: Path, text: str) -> None:
    """Whole or not at all: who watches the folder never reads half a request."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as unfinished:
        unfinished.write(text)
    Path(unfinished.name).replace(file)


def _problem(status: int, message: str) -> Response:
    return json_response(status, {"error": {"message": message, "type": "replay"}})


def _completion(asked: dict[str, Any], content: str) -> dict[str, Any]:
    prompt = sum(len(str(message.get("content", ""))) for message in asked["messages"]) // _CHARS_PER_TOKEN
    answer = len(content) // _CHARS_PER_TOKEN
    return {
        "id": f"replay-{key_of(asked)}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.get("model", "replay"),
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        ],
        "usage": {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer},
    }


async def serve(folder: Path, *, port: int, wait_seconds: float, is_recorded: bool = False) -> None:
    server = HttpServer(Replay(folder, wait_seconds, is_recorded).handle)
    bound = await server.start("127.0.0.1", port)
    sys.stdout.write(json.dumps({"url": f"http://127.0.0.1:{bound}/v1"}) + "\n")
    sys.stdout.flush()
    try:
        await asyncio.to_thread(sys.stdin.read)
    finally:
        await server.stop()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.chat_replay", description=__doc__)
    parser.add_argument("folder", type=Path, help="where requests are written and answers are looked for")
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    parser.add_argument("--wait", type=float, default=600.0, help="seconds to wait for an answer")
    parser.add_argument("--recorded", action="store_true", help="answer what is not there with nothing")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    how = {"port": options.port, "wait_seconds": options.wait, "is_recorded": options.recorded}
    asyncio.run(serve(options.folder, **how))
    return 0


if __name__ == "__main__":
    sys.exit(main())
