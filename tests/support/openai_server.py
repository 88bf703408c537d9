"""An endpoint that is compatible with OpenAI's embeddings, with answers from the test."""

import asyncio
import base64
import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.web_server import HttpServer, Request, Response, json_response


@dataclass
class OpenAIServer:
    dimension: int = 8
    base64: bool = True
    answers: deque[Response] = field(default_factory=deque)  # returned before any vector
    requests: list[Request] = field(default_factory=list)
    address: str = ""
    held: asyncio.Event | None = None  # until it is set, no request gets an answer
    at_once: int = 0
    most_at_once: int = 0

    async def start(self) -> None:
        self._server = HttpServer(self._answer_in_time)
        port = await self._server.start("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        await self._server.stop()

    @property
    def inputs(self) -> list[list[str]]:
        return [json.loads(request.body)["input"] for request in self.requests]

    async def _answer_in_time(self, request: Request) -> Response:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.held is not None:
                await self.held.wait()
            return self._answer(request)
        finally:
            self.at_once -= 1

    def _answer(self, request: Request) -> Response:
        self.requests.append(request)
        if self.answers:
            return self.answers.popleft()
        body = json.loads(request.body)
        if "poison" in body["input"]:
            return refusal(400, "the input was filtered")
        data = [
            {"object": "embedding", "index": index, "embedding": self._vector(text, body.get("dimensions"))}
            for index, text in enumerate(body["input"])
        ]
        # In any order, because the index counts.
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return json_response(
            200, {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}
        )

    def _vector(self, text: str, dimensions: int | None) -> Any:
        vector = np.ones(dimensions or self.dimension, np.float32)
        vector[0] = len(text)
        return base64.b64encode(vector.tobytes()).decode() if self.base64 else vector.tolist()


def refusal(status: int, message: str, **headers: str) -> Response:
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return json_response(status, {"error": {"message": message, "type": "error", "code": str(status)}}, named)
