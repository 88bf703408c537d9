"""The administration port: health, faults, and the read operations of Service Bus's HTTP API.

ServiceBusAdministrationClient always uses HTTPS, health checks for the official emulator use HTTP: the port
takes both. The certificate is made at the first start; clients trust it through `ca.pem` in the data folder.
"""

import re
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs
from xml.etree.ElementTree import Element

import trustme

from localcloud.clock import Clock
from localcloud.faults import FAULTS_PATH, FaultPlan
from localcloud.httpd import HttpServer, Limits, Request, Response, json_response
from localcloud.servicebus.atom import AtomDescriptions, error, feed, to_bytes
from localcloud.servicebus.auth import AccessKey
from localcloud.servicebus.engine import Namespace, Subscription, Topic
from localcloud.servicebus.entities import Queue
from localcloud.servicebus.errors import EntityNotFound, Unauthorized

PAGE = 100
_RULES = re.compile("(.+/subscriptions/[^/]+)/rules(?:/([^/]+))?")
T = TypeVar("T")
Q = TypeVar("Q", bound=Queue)


class AdminSite:
    def __init__(
        self, namespace: Namespace, access_key: AccessKey, clock: Clock, faults: FaultPlan, folder: Path
    ) -> None:
        self._namespace = namespace
        self._access_key = access_key
        self._clock = clock
        self._faults = faults
        self._folder = folder
        self._atom = AtomDescriptions(namespace)
        self._server = HttpServer(self._handle, limits=Limits(body_bytes=1024 * 1024))

    async def start(self, host: str, port: int) -> int:
        return await self._server.start_mixed(host, port, tls=_tls(self._folder))

    async def stop(self) -> None:
        await self._server.stop(grace_seconds=1.0)

    def _handle(self, request: Request) -> Response:
        if request.path == "/health":
            return json_response(200, {"status": "healthy"})
        if request.path == FAULTS_PATH:
            return self._faults.handle(request)
        return self._administer(request)

    def _administer(self, request: Request) -> Response:
        try:
            self._authorize(request)
            if request.method != "GET":
                return _refuse(
                    405, "The topology of the local Service Bus comes from its Config.json: it is read-only."
                )
            return _xml(200, self._answer(request))
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


def _xml(status: int, element: Element) -> Response:
    return Response(
        status, to_bytes(element), [("Content-Type", "application/atom+xml;type=entry;charset=utf-8")]
    )


def _refuse(status: int, detail: str) -> Response:
    return Response(status, to_bytes(error(status, detail)), [("Content-Type", "application/xml")])


def _tls(folder: Path) -> ssl.SSLContext:
    chain, authority = folder / "server.pem", folder / "ca.pem"
    if not chain.exists() or not authority.exists():
        ca = trustme.CA()
        issued = ca.issue_cert("localhost", "127.0.0.1", "::1")
        issued.private_key_and_cert_chain_pem.write_to_path(str(chain))
        chain.chmod(0o600)
        ca.cert_pem.write_to_path(str(authority))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return context
