"""The app's connections, as the caller of this request may read through them."""

from shared.azure import connections
from shared.azure.access import ANYBODY, clients_of, current_caller, set_caller
from shared.azure.connections import Clients

__all__ = ["ANYBODY", "clients", "current_caller", "set_caller"]


async def clients() -> Clients:
    """Connections that find only what the caller may read."""
    return await clients_of(await connections.clients(), current_caller())
