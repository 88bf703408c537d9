"""The administration port: health, faults, and the read operations of Service Bus's HTTP API.

ServiceBusAdministrationClient always uses HTTPS. Health checks for the official emulator use HTTP. The port
accepts both. Clients trust its certificate through `ca.pem` in the data folder, created at the first start.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs
from xml.etree.ElementTree import Element

from localcloud.clock import Clock
from localcloud.faults import FAULTS_PATH, FaultPlan
from localcloud.httpd import HttpServer, Limits, Request, Response, json_response
from localcloud.servicebus.atom import AtomDescriptions, error, feed, to_bytes
from localcloud.servicebus.auth import AccessKey
from localcloud.servicebus.engine import Namespace, Subscription, Topic
from localcloud.servicebus.entities import Queue
from localcloud.servicebus.errors import EntityNotFound, Unauthorized
from localcloud.tls import server_context

PAGE = 100
_ATOM = "application/atom+xml;type=entry;charset=utf-8"
MESSAGES_PATH = "/_localcloud/messages/"
_RULES = re.compile("(.+/subscriptions/[^/]+)/rules(?:/([^/]+))?")
T = TypeVar("T")
Q = TypeVar("Q", bound=Queue)


class AdminSite:
    def __init__(
        self,
        namespace: Namespace,
        access_key: AccessKey,
        clock: Clock,
        faults: FaultPlan,
        folder: Path,
        connections: Callable[[], dict[str, int]],
        changed: Callable[[], None],
    ) -> None:
        self._namespace = namespace
        self._access_key = access_key
        self._clock = clock
        self._faults = faults
        self._folder = folder
        self._connections = connections
        self._changed = changed
        self._atom = AtomDescriptions(namespace)
        self._server = HttpServer(self._handle, limits=Limits(body_bytes=1024 * 1024))

    async def start(self, host: str, port: int) -> int:
        tls, _ = server_context(self._folder, host)
        return await self._server.start_mixed(host, port, tls=tls)

    async def stop(self) -> None:
        await self._server.stop(grace_seconds=1.0)

    def _handle(self, request: Request) -> Response:
        if request.path == "/health":
            return json_response(200, {"status": "healthy", "connections": self._connections()})
        if request.path == FAULTS_PATH:
            return self._faults.handle(request)
        if request.path.startswith(MESSAGES_PATH) and self._faults.enabled and request.method == "DELETE":
            return self._empty(request.path.removeprefix(MESSAGES_PATH))
        return self._administer(request)

    def _empty(self, path: str) -> Response:
        """Delete the messages and dead letters of a queue, for tests."""
        try:
            queue = self._namespace.entity(path)
        except EntityNotFound as refusal:
            return json_response(refusal.status, {"error": refusal.description})
        for part in (queue, queue.dead_letters):
            if part is not None:
                part.empty()
        self._changed()
        return json_response(200, queue.path)

    def _administer(self, request: Request) -> Response:
        try:
            self._authorize(request)
            if request.method != "GET":
                return _refuse(
                    405, "The topology of the local Service Bus comes from its Config.json: it is read-only."
                )
            return Response(200, to_bytes(self._answer(request)), [("Content-Type", _ATOM)])
        except (Unauthorized, EntityNotFound) as refusal:
            return _refuse(refusal.status, refusal.description)
        except ValueError as refusal:
            return _refuse(400, str(refusal))

    def _authorize(self, request: Request) -> None:
        token = request.headers.get("authorization", "")
        self._access_key.check_token(token, request.path, self._clock.now())

    def _answer(self, request: Request) -> Element:
        path = request.path.strip("/").lower()  # case-insensitive, as in Azure
        if path == "$namespaceinfo":
            return self._atom.namespace()
        if path == "$resources/queues":
            return _page(request, list(self._namespace.queues.values()), self._atom.entity)
        if path == "$resources/topics":
            return _page(request, list(self._namespace.topics.values()), self._atom.entity)
        if path.endswith("/subscriptions"):
            topic = self._entity(path.removesuffix("/subscriptions"), Topic)
            return _page(request, topic.subscriptions, self._atom.entity)
        if rules := _RULES.fullmatch(path):
            return self._rules(request, self._entity(rules[1], Subscription), rules[2])
        return self._atom.entity(self._entity(path, Queue))

    def _entity(self, path: str, kind: type[Q]) -> Q:
        found = self._namespace.entity(path)
        if not isinstance(found, kind) or found.is_dead_letter_queue:
            raise EntityNotFound(f"The messaging entity '{path}' could not be found.")
        return found

    def _rules(self, request: Request, subscription: Subscription, name: str | None) -> Element:
        if name is None:
            return _page(request, subscription.rules, lambda rule: self._atom.rule(subscription, rule))
        for rule in subscription.rules:
            if rule.name.lower() == name:
                return self._atom.rule(subscription, rule)
        raise EntityNotFound(f"The rule '{name}' could not be found.")


def _page(request: Request, items: Sequence[T], describe: Callable[[T], Element]) -> Element:
    query = parse_qs(request.query)
    skip, top = (
        int(query.get(name, [default])[0]) for name, default in (("$skip", "0"), ("$top", str(PAGE)))
    )
    if skip < 0 or not 1 <= top <= PAGE:
        raise ValueError(f"$skip is at least 0, and $top 1 to {PAGE}")
    base = f"https://{request.headers.get('host', 'localhost')}{request.raw_path}"
    following = f"{base}?$skip={skip + top}&$top={top}" if skip + top < len(items) else None
    return feed(map(describe, items[skip : skip + top]), f"{base}?$skip={skip}&$top={top}", following)


def _refuse(status: int, detail: str) -> Response:
    return Response(status, to_bytes(error(status, detail)), [("Content-Type", "application/xml")])
