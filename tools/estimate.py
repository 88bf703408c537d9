"""Cost estimates for a month by profile: `python -m tools.estimate` (--messages 100000, --prices FILE).

Fixed costs come from the deployment itself, and the others from the measured costs of a message
(benchmarks/capacity.py). The prices and their dates are in infra/prices.json. The sum excludes unknown prices
and says so.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.capacity import (
    IDLE_LOOKS,
    IDLE_UNITS,
    MEASURED,
    METRIC_BYTES,
    MONTH,
    OPERATIONS,
    SHORTEST_SECONDS,
    SPAN_BYTES,
    TIMER_RUNS,
    WAITING,
)
from tools.bicepcheck.evaluate import Planned, plan

__all__ = ["PROFILES", "Line", "estimate", "estimate_table"]

ROOT = Path(__file__).resolve().parents[1]
PRICES = ROOT / "infra/prices.json"
# The profiles and their parameters.
PROFILES: dict[str, dict[str, str]] = {
    "standard": {"profile": "standard"},
    "low-cost": {"profile": "low-cost"},
    "trial": {"profile": "trial"},
}
HOURS = 730
GB, MB_IN_GB = 1e9, 1024


@dataclass(frozen=True)
class Line:
    """A meter: its quantity, and its cost if the price is known."""

    meter: str
    quantity: float
    unit: str
    price: float | None
    free: float
    day: str | None

    @property
    def amount(self) -> float | None:
        return None if self.price is None else max(0.0, self.quantity - self.free) * self.price


class Resources:
    """The resources of a profile's deployment."""

    def __init__(self, profile: str, location: str) -> None:
        parameters = {"environmentName": "demo", "location": location, **PROFILES[profile]}
        self._all, _ = plan(ROOT / "infra/main.bicep", parameters)

    def of_type(self, type_: str) -> list[Planned]:
        return [resource for resource in self._all if resource.type == type_]

    def the(self, type_: str, name: str = "") -> Planned:
        return next(resource for resource in self.of_type(type_) if resource.name.startswith(name))


def estimate(
    profile: str, messages: int, prices: Path = PRICES, location: str = "swedencentral"
) -> list[Line]:
    known = json.loads(prices.read_text())["prices"]
    quantities = dict(_quantities(Resources(profile, location), messages))
    return [_line(meter, quantity, known[meter]) for meter, quantity in quantities.items() if quantity]


def _line(meter: str, quantity: float, known: dict[str, Any]) -> Line:
    return Line(meter, quantity, known["unit"], known["price"], known["free"], known["day"])


def _quantities(resources: Resources, messages: int) -> Iterator[tuple[str, float]]:
    events = messages * MEASURED.events
    yield from _functions(resources, messages, events)
    search = resources.the("Microsoft.Search/searchServices")
    units = search.properties["replicaCount"] * search.properties["partitionCount"]
    yield f"search.{search.body['sku']['name']}", units * HOURS
    yield "servicebus.standard", 1
    yield "servicebus.operations", (events * OPERATIONS + IDLE_LOOKS) / 1e6
    yield "cosmos.requests", (messages * MEASURED.request_units + IDLE_UNITS) / 1e6
    yield "cosmos.storage", messages * MEASURED.document_bytes / GB
    archives = resources.the("Microsoft.Storage/storageAccounts", "sta")
    yield f"storage.{archives.body['sku']['name']}", messages * MEASURED.archive_bytes / GB
    settings = resources.the("Microsoft.Web/sites/config", "appsettings").properties
    spans = events * SPAN_BYTES * float(settings["TELEMETRY_SAMPLING_RATIO"])
    yield "logs", (spans + METRIC_BYTES) / GB
    yield from _alerts(resources)


def _alerts(resources: Resources) -> Iterator[tuple[str, float]]:
    """Yield alert rules: query alerts by frequency, and metric alerts by the number of their series."""
    rules = resources.of_type("Microsoft.Insights/scheduledQueryRules")
    for frequency, count in sorted(Counter(rule.properties["evaluationFrequency"] for rule in rules).items()):
        yield f"alerts.query.{frequency}", count
    entities = [resources.of_type(f"Microsoft.ServiceBus/namespaces/{kind}") for kind in ("queues", "topics")]
    criteria = [
        criterion
        for rule in resources.of_type("Microsoft.Insights/metricAlerts")
        for criterion in rule.properties["criteria"]["allOf"]
    ]
    is_split = [any("*" in each["values"] for each in found.get("dimensions", [])) for found in criteria]
    yield "alerts.metric", sum(sum(map(len, entities)) if split else 1 for split in is_split)


def _functions(resources: Resources, messages: int, events: float) -> Iterator[tuple[str, float]]:
    scales = [
        site.properties["functionAppConfig"]["scaleAndConcurrency"]
        for site in resources.of_type("Microsoft.Web/sites")
    ]
    memory = scales[0]["instanceMemoryMB"] / MB_IN_GB
    busy = messages * MEASURED.cpu_ms / 1000 * WAITING
    yield "functions.on-demand", (TIMER_RUNS * SHORTEST_SECONDS + busy) * memory
    yield "functions.executions", TIMER_RUNS + events
    warm = sum(group["instanceCount"] for scale in scales for group in scale["alwaysReady"])
    yield "functions.always-ready", warm * MONTH * memory


def estimate_table(messages: int, prices: Path = PRICES) -> str:
    """Return a table with a month of each profile."""
    by_profile = {name: {line.meter: line for line in estimate(name, messages, prices)} for name in PROFILES}
    meters = list(dict.fromkeys(meter for lines in by_profile.values() for meter in lines))
    rows = [
        ["meter", *PROFILES, "price as of"],
        ["---"] * (len(PROFILES) + 2),
        *(
            [meter, *(_cell(lines.get(meter)) for lines in by_profile.values()), _day(by_profile, meter)]
            for meter in meters
        ),
        ["sum of what is known", *(f"**{_sum(lines):,.2f}**" for lines in by_profile.values()), ""],
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(line: Line | None) -> str:
    if line is None:
        return "-"
    size = f"{line.quantity:,.0f}" if line.quantity >= 10 else f"{line.quantity:.2f}"  # noqa: PLR2004 - 3 digits
    return f"{size} {line.unit}: {'?' if line.amount is None else f'{line.amount:,.2f}'}"


def _day(by_profile: dict[str, dict[str, Line]], meter: str) -> str:
    line = next(lines[meter] for lines in by_profile.values() if meter in lines)
    return line.day or "not looked up"


def _sum(lines: dict[str, Line]) -> float:
    return sum(line.amount or 0 for line in lines.values())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.estimate", description=__doc__)
    parser.add_argument("--messages", type=int, default=0, help="new messages in the month")
    parser.add_argument(
        "--prices", type=Path, default=PRICES, help="a file like infra/prices.json with your prices"
    )
    given = parser.parse_args()
    print(estimate_table(given.messages, given.prices))  # noqa: T201 - the command's output


if __name__ == "__main__":
    main()
