"""The HTTPS server: keys, faults, and the choice of a thread for each operation.

Lookups and counts run on the event loop, because they cost less than a thread switch. Searches run on a few
reader threads. All changes run on one writer thread, in order of arrival.
"""

import asyncio
import hmac
import logging
import re
import time
import uuid
from collections.abc import Awaitable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from localcloud.clock import SystemClock
from localcloud.faults import FAULTS_PATH, Fault, FaultPlan
from localcloud.httpd import HttpServer, Limits, Request, Response, json_response
from localcloud.search.catalog import Catalog
from localcloud.search.documents import Action
from localcloud.search.errors import DocumentError, SearchError, bad_request
from localcloud.search.operations import Answer, Call, Operation, find_operation
from localcloud.tls import server_context

log = logging.getLogger(__name__)

# Well-known on purpose: the service listens on loopback and has only test data.
ADMIN_KEY = "localcloud-search-admin-key"
QUERY_KEY = "localcloud-search-query-key"
HEALTH_PATH = "/_localcloud/health"
FAULT_KINDS = ("status", "partial", "latency", "reset")
READERS = 4

# The versions of the supported SDKs, older stable versions with a subset of their features, and previews,
# whose additional features are rejected by name.
API_VERSIONS = frozenset({"2020-06-30", "2023-11-01", "2024-07-01", "2025-09-01", "2026-04-01"})
_API_VERSION = re.compile(r"(?:^|&)api-version=([^&]*)")
_PREVIEW = re.compile(r"202[0-6]-\d\d-\d\d-[Pp]review")
_PLAIN_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True)
class Settings:
    data: Path
    host: str = "127.0.0.1"
    port: int = 7443
    indexing_delay: float = 0.0
    admin_key: str = ADMIN_KEY
    query_key: str = QUERY_KEY
    faults: bool = False


class SearchService:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._faults = FaultPlan(FAULT_KINDS, enabled=settings.faults)
        self._catalog = Catalog(settings.data, SystemClock(), delay=settings.indexing_delay)
        self._threads: dict[str, Executor] = {
            "reader": ThreadPoolExecutor(READERS, thread_name_prefix="reader"),
            "writer": ThreadPoolExecutor(1, thread_name_prefix="writer"),
        }
        self._server = HttpServer(self.handle, limits=Limits())

    async def start(self) -> dict[str, str]:
        context, authority = server_context(self._settings.data / "tls", self._settings.host)
        port = await self._server.start(self._settings.host, self._settings.port, tls=context)
        return {"endpoint": f"https://localhost:{port}", "ca": str(authority)}

    async def stop(self) -> None:
        await self._server.stop()
        for executor in self._threads.values():
            executor.shutdown()
        self._catalog.close()

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        if request.raw_path == HEALTH_PATH:
            return json_response(200, {"status": "ok", "indexes": len(self._catalog.indexes())})
        if request.raw_path == FAULTS_PATH:
            return self._faults.handle(request)
        started = time.perf_counter()
        try:
            operation, name, key = find_operation(request)
            self._authorise(request, operation)
            _check_version(request.query)
        except SearchError as error:
            return self._respond(request, _refusal(error), started)
        call = Call(self._catalog, request, name, key)
        fault = self._faults.take(operation.name)
        if fault is None and operation.thread == "inline":
            return self._respond(request, _run(operation, call), started)
        return self._answer_later(operation, call, fault, started)

    async def _answer_later(
        self, operation: Operation, call: Call, fault: Fault | None, started: float
    ) -> Response:
        if fault is not None:
            broken = await self._inject(fault, call)
            if broken is not None:
                return self._respond(call.request, broken, started) if isinstance(broken, Answer) else broken
        executor = self._threads.get(operation.thread)
        if executor is None:
            answer = _run(operation, call)
        else:
            answer = await asyncio.get_running_loop().run_in_executor(executor, _run, operation, call)
        if fault is not None and fault.kind == "reset":  # the fault requests a reset after the work is done
            return Response(0, drop=True)
        return self._respond(call.request, answer, started)

    async def _inject(self, fault: Fault, call: Call) -> Answer | Response | None:
        """Return a response that replaces the operation's, or None to run the operation."""
        if fault.kind == "latency":
            await asyncio.sleep(float(fault.args.get("seconds", 1.0)))
        elif fault.kind == "partial":
            call.failing = _partial_failure(fault)
        elif fault.kind == "reset":
            return None if fault.args.get("after") else Response(0, drop=True)
        elif fault.kind == "status":
            status = int(fault.args.get("status", 503))
            message = str(fault.args.get("message", "An injected fault: try again later."))
            headers = [("Retry-After", str(fault.args["retry_after"]))] if "retry_after" in fault.args else []
            return Answer(status, SearchError(status, message, "InjectedFault").body(), tuple(headers))
        return None

    def _authorise(self, request: Request, operation: Operation) -> None:
        key = request.headers.get("api-key")
        if key is None:
            if request.headers.get("authorization", "").lower().startswith("bearer "):
                return  # Azure would verify the token. Here, every token is an administrator's
            raise SearchError(401, "Send an api-key header or a bearer token.", "Unauthorized")
        if hmac.compare_digest(key.encode(), self._settings.admin_key.encode()):
            return
        if hmac.compare_digest(key.encode(), self._settings.query_key.encode()):
            if operation.open:
                return
            raise SearchError(
                403, f"A query key cannot be used for {operation.name}: use the admin key.", "Forbidden"
            )
        raise SearchError(403, "The api-key is not one of this service's keys.", "Forbidden")

    def _respond(self, request: Request, answer: Answer, started: float) -> Response:
        sent_id = request.headers.get("x-ms-client-request-id", "")
        headers = [
            ("request-id", sent_id if _PLAIN_ID.fullmatch(sent_id) else str(uuid.uuid4())),
            ("elapsed-time", str(int((time.perf_counter() - started) * 1000))),
            ("OData-Version", "4.0"),
            *answer.headers,
        ]
        if answer.text is not None:
            return Response(answer.status, answer.text, [("Content-Type", "text/plain"), *headers])
        if answer.body is None:
            return Response(answer.status, b"", headers)
        body = orjson.dumps(answer.body, option=orjson.OPT_SERIALIZE_NUMPY)
        kind = ("Content-Type", "application/json; odata.metadata=none")
        return Response(answer.status, body, [kind, *headers])


def _check_version(query: str) -> None:
    match = _API_VERSION.search(query)
    if match is None or not match[1]:
        raise bad_request("The api-version query parameter is missing.", "MissingApiVersionParameter")
    if match[1] not in API_VERSIONS and not _PREVIEW.fullmatch(match[1]):
        known = ", ".join(sorted(API_VERSIONS))
        raise bad_request(
            f"The api-version '{match[1]:.50}' is not supported. Supported are {known} and previews.",
            "UnsupportedApiVersion",
        )


def _run(operation: Operation, call: Call) -> Answer:
    try:
        return operation.run(call)
    except SearchError as error:
        return _refusal(error)


def _refusal(error: SearchError) -> Answer:
    return Answer(error.status, error.body())


def _partial_failure(fault: Fault) -> Any:
    """Return a function that fails the documents with these keys, or the first `count` documents."""
    keys = frozenset(fault.args.get("keys", ()))
    left = [0 if keys else int(fault.args.get("count", 1))]
    status = int(fault.args.get("status", 503))

    def failing(action: Action) -> DocumentError | None:
        if action.key not in keys:
            if not left[0]:
                return None
            left[0] -= 1
        return DocumentError("An injected fault: this document was not indexed. Try again later.", status)

    return failing
