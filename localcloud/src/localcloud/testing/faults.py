"""Control of a running service: plan faults, delay replicas, empty a queue."""

import json
import ssl
import urllib.request
from typing import Any

from localcloud.running import Service


class Faults:
    """The control endpoints of a service that was started with `--faults`."""

    def __init__(self, service: Service) -> None:
        self._addresses = service.addresses

    def plan(self, *faults: dict[str, Any]) -> None:
        """Replace the service's fault plan."""
        self._ask("PUT", "faults", list(faults))

    @property
    def hits(self) -> int:
        return sum(fault["hits"] for fault in self._ask("GET", "faults"))

    def lag(self, seconds: float) -> None:
        """Delay the writes that Cosmos DB's replicas show."""
        self._ask("PUT", "lag", {"seconds": seconds})

    def empty(self, queue: str) -> None:
        """Delete all messages and dead letters of the queue, including locked messages."""
        self._ask("DELETE", f"messages/{queue}")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        base = self._addresses.get("admin") or self._addresses["endpoint"]
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{base}/_localcloud/{path}", data, method=method)  # noqa: S310 - a local service
        authority = self._addresses.get("ca")
        tls = ssl.create_default_context(cafile=authority) if authority else None
        with urllib.request.urlopen(request, timeout=10, context=tls) as answer:  # noqa: S310 - a local service
            return json.loads(answer.read() or b"null")
