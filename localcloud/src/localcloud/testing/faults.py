"""What a test does to a service that runs: plan faults, let replicas lag, empty a queue."""

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
        """Replace the faults that the service acts out."""
        self._ask("PUT", "faults", list(faults))

    @property
    def hits(self) -> int:
        return sum(fault["hits"] for fault in self._ask("GET", "faults"))

    def lag(self, seconds: float) -> None:
        """Let the replicas of Cosmos DB show writes this much later."""
        self._ask("PUT", "lag", {"seconds": seconds})

    def empty(self, queue: str) -> None:
        """Remove all messages of the queue and its dead letters, the locked ones as well."""
        self._ask("DELETE", f"messages/{queue}")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        base = self._addresses.get("admin") or self._addresses["endpoint"]
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{base}/_localcloud/{path}", data, method=method)  # noqa: S310 - ours
        authority = self._addresses.get("ca")
        tls = ssl.create_default_context(cafile=authority) if authority else None
        with urllib.request.urlopen(request, timeout=10, context=tls) as answer:  # noqa: S310 - ours
            return json.loads(answer.read() or b"null")
