"""Ports of the local cloud: those of Microsoft's emulators, with a common offset if any is in use."""

import socket
from dataclasses import dataclass, fields

STEP = 100
TRIES = 50


class NoFreePortsError(OSError):
    """No set of free ports was found."""


@dataclass(frozen=True)
class Ports:
    blob: int = 10000
    queue: int = 10001
    table: int = 10002
    amqp: int = 5672
    admin: int = 5300
    cosmos: int = 8081
    search: int = 7443
    functions: int = 7071
    telemetry: int = 4319

    def moved(self, offset: int) -> "Ports":
        return Ports(**{port.name: getattr(self, port.name) + offset for port in fields(self)})

    def numbers(self) -> list[int]:
        return [getattr(self, port.name) for port in fields(self)]


def busy_ports(ports: Ports, host: str = "127.0.0.1") -> list[int]:
    return [port for port in ports.numbers() if not _is_free(host, port)]


def choose_ports(offset: int | None = None) -> Ports:
    """Return the ports at this offset, or at the first offset with all ports free."""
    if offset is not None:
        ports = Ports().moved(offset)
        if busy := busy_ports(ports):
            raise NoFreePortsError(
                f"port {busy[0]} is in use: stop the process that listens there, or omit --port-offset to"
                " choose free ports"
            )
        return ports
    for step in range(TRIES):
        ports = Ports().moved(step * STEP)
        if not busy_ports(ports):
            return ports
    raise NoFreePortsError(f"no free ports at offsets 0 to {(TRIES - 1) * STEP}")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        # Bind as the services do: a port in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
