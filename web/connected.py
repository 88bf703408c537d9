"""Connections that read only what the caller of the request may read."""

from shared.azure import connections
from shared.azure.access import ANYBODY, clients_of, current_caller, set_caller
from shared.azure.connections import Clients

__all__ = ["ANYBODY", "clients", "current_caller", "set_caller"]


async def clients() -> Clients:
    return await clients_of(await connections.clients(), current_caller())
