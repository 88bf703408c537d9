"""The local Service Bus as a service: AMQP on one port, administration on another."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from localcloud.clock import Clock, SystemClock
from localcloud.faults import FaultPlan
from localcloud.servicebus.admin import AdminSite
from localcloud.servicebus.amqp.connection import Connection
from localcloud.servicebus.auth import AccessKey
from localcloud.servicebus.broker import FAULT_KINDS, Broker
from localcloud.servicebus.config import NamespaceConfig
from localcloud.servicebus.engine import Namespace
from localcloud.servicebus.journal import Journal


@dataclass(frozen=True)
class Settings:
    config: NamespaceConfig
    data: Path
    host: str = "127.0.0.1"
    port: int = 5672
    admin_port: int = 5300
    synchronous: str = "NORMAL"
    faults: bool = False
    max_connections: int = 1000
    access_key: AccessKey = field(default_factory=AccessKey)


class ServiceBus:
    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._faults = FaultPlan(FAULT_KINDS, enabled=settings.faults)
        self._journal: Journal | None = None
        self._broker: Broker | None = None
        self._server: asyncio.Server | None = None
        self._admin: AdminSite | None = None

    async def start(self) -> dict[str, str]:
        settings = self._settings
        journal = self._journal = Journal(settings.data, synchronous=settings.synchronous)
        namespace = Namespace(settings.config, self._clock, journal.number_of)
        namespace.restore(journal.messages(), journal.counters(), journal.duplicates(namespace.now()))
        broker = self._broker = Broker(
            namespace, journal, clock=self._clock, access_key=settings.access_key, faults=self._faults,
            max_connections=settings.max_connections,
        )  # fmt: skip
        broker.end_turn_soon()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(broker), settings.host, settings.port, backlog=512
        )
        self._admin = AdminSite(
            namespace,
            settings.access_key,
            self._clock,
            self._faults,
            settings.data,
            broker.connection_counts,
            broker.end_turn_soon,
        )
        admin_port = await self._admin.start(settings.host, settings.admin_port)
        port = self._server.sockets[0].getsockname()[1]
        return {"amqp": f"amqp://{settings.host}:{port}", "admin": f"http://{settings.host}:{admin_port}"}

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._broker is not None:
            self._broker.stop()
        if self._admin is not None:
            await self._admin.stop()
        if self._server is not None:
            await self._server.wait_closed()
        if self._journal is not None:
            self._journal.close()
