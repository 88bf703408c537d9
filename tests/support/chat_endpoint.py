"""A chat endpoint like those of compatible servers, on a free port, with answers from the test."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.web_server import HttpServer, Request, Response, json_response

__all__ = ["ChatEndpointServer", "completion", "serving"]

Answer = Callable[[dict[str, Any]], Response]


def completion(content: Any, tokens: int = 77) -> Response:
    """Return a chat completion whose message has this content."""
    text = content if isinstance(content, str) else json.dumps(content)
    return json_response(
        200,
        {
            "id": "chat-1",
            "object": "chat.completion",
            "created": 1,
            "model": "toy",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            ],
            "usage": {"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens},
        },
    )


@dataclass
class ChatEndpointServer:
    answer: Answer
    url: str = ""
    requests: list[Request] = field(default_factory=list)

    def handle(self, request: Request) -> Response:
        self.requests.append(request)
        return self.answer(json.loads(request.body))

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(request.body) for request in self.requests]


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[ChatEndpointServer]:
    endpoint = ChatEndpointServer(answer)
    server = HttpServer(endpoint.handle)
    port = await server.start("127.0.0.1", 0)
    endpoint.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield endpoint
    finally:
        await server.stop()
