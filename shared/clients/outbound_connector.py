"""An aiohttp connector that connects only to addresses that the policy allows."""

import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from shared.clients.outbound import AddressPolicy


def checked_connector(policy: AddressPolicy) -> aiohttp.TCPConnector:
    """Connections that go to allowed addresses only, whatever a name resolves to."""
    return aiohttp.TCPConnector(resolver=_CheckedResolver(policy), use_dns_cache=False, force_close=True)


class _CheckedResolver(AbstractResolver):
    """What it gives is what is connected to: there is no second look-up."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - both kinds are fine
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._policy.resolved(host, port)
        ]

    async def close(self) -> None:
        pass
