"""Faults on demand: a plan of injected faults, for every local service.

A fault specifies the operations that it affects (a shell pattern over the service's operation names), how
many of them it skips, how many it affects, and a kind with arguments of the service. Plans require the
service's option --faults. Clients on loopback change the plan:

    GET    /_localcloud/faults   return the plan, with the number of hits of each fault
    PUT    /_localcloud/faults   replace the plan with a JSON array of faults
    DELETE /_localcloud/faults   clear the plan
"""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from localcloud.httpd import Request, Response, json_response

FAULTS_PATH = "/_localcloud/faults"


class FaultError(ValueError):
    """The fault plan is malformed."""


@dataclass
class Fault:
    kind: str
    operation: str = "*"
    skip: int = 0
    times: int | None = 1
    args: dict[str, Any] = field(default_factory=dict)
    seen: int = 0
    hits: int = 0

    def apply_to(self, operation: str) -> bool:
        if not fnmatchcase(operation, self.operation):
            return False
        self.seen += 1
        if self.seen <= self.skip or (self.times is not None and self.hits >= self.times):
            return False
        self.hits += 1
        return True


class FaultPlan:
    """The faults planned for a service, which supports these `kinds`."""

    def __init__(self, kinds: Collection[str], *, enabled: bool = False) -> None:
        self.kinds = frozenset(kinds)
        self.enabled = enabled
        self.faults: list[Fault] = []

    def take(self, operation: str) -> Fault | None:
        """Return the first fault that applies to this operation, if any."""
        if not self.faults:
            return None
        return next((fault for fault in self.faults if fault.apply_to(operation)), None)

    def replace(self, planned: Any) -> None:
        if not isinstance(planned, list):
            raise FaultError("a fault plan is a JSON array of faults")
        self.faults = [self._parse(position, item) for position, item in enumerate(planned)]

    def _parse(self, position: int, item: Any) -> Fault:
        if not isinstance(item, dict):
            raise FaultError(f"fault {position}: not an object")
        allowed = {"kind", "operation", "skip", "times", "args"}
        if unknown := set(item) - allowed:
            raise FaultError(f"fault {position}: unknown field {min(unknown)!r}, one of {sorted(allowed)}")
        if item.get("kind") not in self.kinds:
            raise FaultError(
                f"fault {position}: kind {item.get('kind')!r} is not one of {sorted(self.kinds)}"
            )
        _check_counts(position, item)
        return Fault(**item)

    def handle(self, request: Request) -> Response:
        """Handle a request to the control endpoint."""
        if not self.enabled:
            return json_response(403, {"error": "faults are off: start this service with --faults"})
        if request.method == "PUT":
            try:
                self.replace(json.loads(request.body))
            except ValueError as error:
                return json_response(400, {"error": str(error)})
        elif request.method == "DELETE":
            self.faults = []
        elif request.method != "GET":
            return json_response(405, {"error": "GET, PUT or DELETE"})
        return json_response(200, [asdict(fault) for fault in self.faults])


def _check_counts(position: int, item: dict[str, Any]) -> None:
    for name in ("skip", "times"):
        value = item.get(name, 0)
        if (name, value) == ("times", None):
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise FaultError(f"fault {position}: {name} is a whole number from 0 up, not {value!r}")
    if not isinstance(item.get("operation", ""), str) or not isinstance(item.get("args", {}), dict):
        raise FaultError(f"fault {position}: operation is a string and args an object")
