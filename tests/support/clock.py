"""Clients whose time a test controls."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from shared.clients.connections import Clients

__all__ = ["with_clock"]


def with_clock(clients: Clients, now: Callable[[], datetime]) -> Clients:
    """The same connections; only whoever gets these clients sees the other time."""
    return replace(clients, runtime=replace(clients.runtime, now=now))
