"""The HTTP server of the account: checks signatures and injects faults."""

import asyncio
import logging
from collections.abc import Awaitable
from itertools import count
from typing import Any
from uuid import uuid4

import apsw
import orjson

from localcloud.cosmos.account import Account
from localcloud.cosmos.api import Api
from localcloud.cosmos.auth import Authenticator, Resource
from localcloud.cosmos.errors import CosmosError, bad_request, not_implemented
from localcloud.cosmos.wire import Call, session_headers
from localcloud.faults import FAULTS_PATH, Fault, FaultPlan
from localcloud.httpd import HttpServer, Limits, Request, Response, json_response

log = logging.getLogger(__name__)

FAULT_KINDS = ("status", "status_after", "latency", "reset_before", "reset_after")
LAG_PATH = "/_localcloud/lag"
HEALTH_PATH = "/_localcloud/health"
PURGE_SECONDS = 1.0
MAX_FAULT_LATENCY = 60.0
_STAMP = str(uuid4())[:24]
_activities = count()
_WRITES = frozenset({"create", "upsert", "replace", "patch", "delete", "batch", "bulk", "deletepartition"})


class CosmosService:
    def __init__(
        self, account: Account, *, host: str, port: int, key: str, rate: float, faults: bool
    ) -> None:
        self._account = account
        self._api = Api(account, rate=rate)
        self._authenticator = Authenticator(key)
        self._faults = FaultPlan(FAULT_KINDS, enabled=faults)
        self._http = HttpServer(self.handle, limits=Limits(body_bytes=8 * 1024 * 1024))
        self._host, self._port = host, port
        self._purger: asyncio.Task[None] | None = None

    async def start(self) -> dict[str, str]:
        port = await self._http.start(self._host, self._port)
        self._purger = asyncio.create_task(self._purge())
        return {"endpoint": f"http://{self._host}:{port}"}

    async def stop(self) -> None:
        if self._purger is not None:
            self._purger.cancel()
        await self._http.stop()
        self._commit()
        self._api.documents.slow.close()
        self._account.close()

    async def _purge(self) -> None:
        while True:
            await asyncio.sleep(PURGE_SECONDS)
            for container in self._account.containers:
                self._account.documents.purge(container)

    def handle(self, request: Request) -> Response | Awaitable[Response]:
        if request.target.startswith("/_localcloud/"):
            return self._control(request)
        resource = Resource(request.raw_path)
        call = Call(request, resource.parts)
        try:
            if resource.parts[:1] == ["addresses"]:
                raise not_implemented(
                    "Direct mode (RNTBD over TCP)",
                    "use ConnectionMode.Gateway (.NET) or gatewayMode() (Java)",
                )
            self._authenticator.check(request, resource)
            self._api.route(call)
        except CosmosError as error:
            return refusal(call, error)
        fault = self._faults.take(call.operation)
        if fault is not None:
            return self._inject(fault, call)
        return self._perform(call)

    def _perform(self, call: Call) -> Response | Awaitable[Response]:
        if call.operation.rpartition(".")[2] in _WRITES and self._account.store.begin_group():
            # All writes of one event loop iteration share a commit. The responses wait for it.
            self._http.hold()
            asyncio.get_running_loop().call_soon(self._commit)
        return self._run(call)

    def _commit(self) -> None:
        try:
            self._account.store.end_group()
        except apsw.Error:
            log.exception("the commit failed: nothing that waited for it is acknowledged")
            self._http.release(failed=True)
        else:
            self._http.release()

    def _run(self, call: Call) -> Response | Awaitable[Response]:
        try:
            response = self._api.run(call)
        except CosmosError as error:
            return refusal(call, error)
        if not isinstance(response, Response):
            return self._finish(call, response)
        call.headers.append(_activity(call))
        return response

    async def _finish(self, call: Call, coming: Awaitable[Response]) -> Response:
        try:
            response = await coming
        except CosmosError as error:
            return refusal(call, error)
        call.headers.append(_activity(call))
        return response

    # faults

    async def _inject(self, fault: Fault, call: Call) -> Response:
        if fault.kind == "status":
            return refusal(call, _planned_error(fault.args))
        if fault.kind == "reset_before":
            return Response(500, drop=True)
        if fault.kind == "latency":
            await asyncio.sleep(min(float(fault.args.get("seconds", 0.1)), MAX_FAULT_LATENCY))
        response = self._perform(call)
        if not isinstance(response, Response):
            response = await response
        if fault.kind == "reset_after":
            return Response(500, drop=True)
        if fault.kind == "status_after":
            return refusal(call, _planned_error(fault.args))
        return response

    # control

    def _control(self, request: Request) -> Response:
        if request.path == HEALTH_PATH:
            return json_response(200, {"status": "ok", "lag": self._account.replica.lag})
        if request.path == FAULTS_PATH:
            return self._faults.handle(request)
        if request.path == LAG_PATH:
            return self._control_lag(request)
        return json_response(404, {"error": f"no such control path: {request.path[:100]}"})

    def _control_lag(self, request: Request) -> Response:
        if request.method == "PUT":
            try:
                self._account.set_lag(_lag_in(request.body))
            except CosmosError as error:
                return json_response(400, {"error": str(error)})
        elif request.method != "GET":
            return json_response(405, {"error": "GET or PUT"})
        return json_response(200, {"seconds": self._account.replica.lag})


def _lag_in(body: bytes) -> float:
    try:
        seconds = orjson.loads(body)
    except ValueError:
        raise bad_request('the body is {"seconds": 2.5}') from None
    seconds = seconds.get("seconds") if isinstance(seconds, dict) else seconds
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise bad_request('the body is {"seconds": 2.5}')
    return float(seconds)


def _activity(call: Call) -> tuple[str, str]:
    return ("x-ms-activity-id", call.header("x-ms-activity-id") or f"{_STAMP}{next(_activities):012x}")


def refusal(call: Call, error: CosmosError) -> Response:
    headers = [*session_headers(call), ("x-ms-substatus", str(error.substatus)), ("x-ms-request-charge", "1")]
    headers += [*error.headers, _activity(call), ("Content-Type", "application/json")]
    return Response(error.status, orjson.dumps(error.body), headers)


def _planned_error(args: dict[str, Any]) -> CosmosError:
    retry_after = args.get("retry_after_ms")
    return CosmosError(
        int(args.get("status", 503)),
        str(args.get("message", "a planned fault")),
        substatus=int(args.get("substatus", 0)),
        headers=(("x-ms-retry-after-ms", str(int(retry_after))),) if retry_after is not None else (),
    )
