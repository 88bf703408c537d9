"""The HTTP server: accepts telemetry like Application Insights' ingestion endpoint, and answers queries."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from localcloud.clock import SystemClock
from localcloud.httpd import HttpServer, Limits, Request, Response, json_response
from localcloud.telemetry.envelopes import BodyError, read_envelopes, unpack
from localcloud.telemetry.questions import PREFIX, TelemetryQueryError, answer
from localcloud.telemetry.store import Store

log = logging.getLogger(__name__)

PORT = 4319
HEALTH_PATH = "/_localcloud/health"
TRACK_PATHS = frozenset({"/v2.1/track", "/v2/track"})
LIVE_METRICS_PATH = "/QuickPulseService.svc/"
BODY_BYTES = 32 * 1024 * 1024
OWN_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class TelemetryService:
    def __init__(self, data: Path, host: str, port: int) -> None:
        self._address = host, port
        self._clock = SystemClock()
        self._store = Store(data)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._server = HttpServer(self.handle, limits=Limits(body_bytes=BODY_BYTES))

    async def start(self) -> dict[str, str]:
        port = await self._server.start(*self._address)
        return {"endpoint": f"http://127.0.0.1:{port}"}

    async def stop(self) -> None:
        await self._server.stop()
        self._thread.shutdown()
        self._store.close()

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        if not _is_own_host(request.headers.get("host", "")):
            # A web page can point its own host name here (DNS rebinding). It must not read the data.
            return json_response(403, {"error": "the Host header must be localhost or 127.0.0.1"})
        # For an endpoint that ends in a slash, as Azure's do, the exporter requests //v2.1/track.
        path = f"/{request.raw_path.lstrip('/')}"
        if path in TRACK_PATHS and request.method == "POST":
            return self._on_thread(lambda: self._take(request))
        if path == HEALTH_PATH:
            return self._on_thread(lambda: json_response(200, {"status": "ok", **self._store.counts()}))
        if path.startswith(PREFIX) and request.method in ("GET", "HEAD"):
            return self._on_thread(lambda: self._answer(request))
        if path.startswith(LIVE_METRICS_PATH):  # no live metrics viewer: the sender stays quiet
            return Response(200, b"", [("x-ms-qps-subscribed", "false")])
        return json_response(404, {"error": f"{request.method} {path}: unknown path"})

    async def _on_thread(self, work: Callable[[], Response]) -> Response:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _take(self, request: Request) -> Response:
        encoding = request.headers.get("content-encoding", "").strip().lower()
        try:
            received = read_envelopes(unpack(request.body, encoding, limit=BODY_BYTES))
        except BodyError as error:
            return json_response(400, _track_answer(0, [(0, str(error))]))
        self._store.add(received, self._clock.now())
        refused = received.refused
        for index, message in refused[:5]:
            log.warning("envelope %d was refused: %s", index, message)
        status = 200 if not refused else 206 if len(refused) < received.total else 400
        return json_response(status, _track_answer(received.total, refused))

    def _answer(self, request: Request) -> Response:
        try:
            found = answer(self._store, request.raw_path, request.query, self._clock.now())
        except TelemetryQueryError as error:
            return json_response(error.status, {"error": str(error)})
        return json_response(200, found, [("Cache-Control", "no-store")])


def _track_answer(total: int, refused: list[tuple[int, str]]) -> dict[str, Any]:
    return {
        "itemsReceived": total,
        "itemsAccepted": max(total - len(refused), 0),
        "errors": [{"index": index, "statusCode": 400, "message": message} for index, message in refused],
    }


def _is_own_host(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in OWN_NAMES
    except ValueError:
        return False
