"""Allowed addresses of outgoing connections: public addresses, and those in SOURCE_ALLOWED_HOSTS.

A connection uses the address that was checked, so a name that later resolves to another address is harmless.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from yarl import URL

from shared.core.errors import PermanentError, TransientError
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    import aiohttp
    from aiohttp import abc
else:  # slow to import
    aiohttp, abc = lazy("aiohttp"), lazy("aiohttp.abc")

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_REFUSED = (
    ip_network("168.63.129.16/32"),  # host services of Azure, at an address that looks public
    ip_network("192.0.0.0/24"),  # protocol assignments, with two addresses that Python considers public
    ip_network("192.88.99.0/24"),  # deprecated 6to4 relays
    ip_network("fec0::/10"),  # deprecated site-local addresses
    ip_network("3fff::/20"),  # documentation
)
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_COMPATIBLE = ip_network("::/96")
_LOW_32 = 0xFFFFFFFF


async def system_resolver(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@dataclass(frozen=True)
class AddressPolicy:
    names: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    resolve: Resolve = field(default=system_resolver)
    setting: str = "SOURCE_ALLOWED_HOSTS"

    @classmethod
    def parse(
        cls, allowed: str, resolve: Resolve = system_resolver, setting: str = "SOURCE_ALLOWED_HOSTS"
    ) -> "AddressPolicy":
        """Parse the setting: names, `*.suffix`, addresses and networks, separated by commas."""
        entries = [entry.strip().lower() for entry in allowed.split(",") if entry.strip()]
        networks = tuple(found for entry in entries if (found := _network(entry)) is not None)
        names = [entry for entry in entries if _network(entry) is None]
        whole = frozenset(name for name in names if not name.startswith("*."))
        suffixes = tuple(name[1:] for name in names if name.startswith("*."))
        return cls(whole, suffixes, networks, resolve, setting)

    def allows(self, host: str, address: Address | None = None) -> bool:
        name, address = host.lower().rstrip("."), address or _literal(host)
        named = address is not None and any(address in network for network in self.networks)
        return named or name in self.names or name.endswith(self.suffixes)

    def check_literal(self, host: str) -> None:
        """Refuse a forbidden literal address. A name is checked when it is resolved."""
        address = _literal(host)
        if address is not None:
            self._check(host, address)

    async def resolved(self, host: str, port: int) -> list[str]:
        try:
            found = await self.resolve(host, port)
        except OSError as error:
            raise FetchError(f"{host}: the name cannot be resolved ({error.strerror or error})") from None
        if not found:
            raise FetchError(f"{host}: the name has no address")
        for address in found:
            self._check(host, ip_address(address.partition("%")[0]))
        return list(dict.fromkeys(found))

    def _check(self, host: str, address: Address) -> None:
        if not self.allows(host, address) and not all(map(_is_public, _meanings(address))):
            raise ForbiddenAddressError(
                f"{host}: {address} is not a public address; add it to {self.setting} if it is meant"
            )


def _network(entry: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        pass
    try:  # the system also accepts 127.1, 0x7f000001, 2130706433 and 0177.0.0.1
        return IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def _meanings(address: Address) -> list[Address]:
    """Return the address and the IPv4 addresses that it embeds."""
    if isinstance(address, IPv4Address):
        return [address]
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in (*_NAT64, _COMPATIBLE)):
        inner.append(IPv4Address(int(address) & _LOW_32))
    embedded: list[Address] = [address for address in inner if address is not None]
    # A mapped address reaches only its IPv4 address.
    return embedded if address.ipv4_mapped else [address, *embedded]


def _is_public(address: Address) -> bool:
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in network for network in _REFUSED)
    )


def redacted_url(url: object) -> str:
    """Return the URL as readers see it, without its query, which may contain a signature."""
    address, query, _ = str(url).partition("?")
    return f"{address}?..." if query else address


class ForbiddenAddressError(PermanentError):
    """The address is not allowed as a source."""


class SourceError(PermanentError):
    """The definition of the source is invalid."""


class FetchError(TransientError):
    """The source did not deliver its archive."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def check_http_url(text: str, policy: AddressPolicy) -> URL:
    """Return the URL to connect to. Raise SourceError or ForbiddenAddressError if it is not allowed."""
    try:
        url = URL(text)
    except ValueError as error:
        raise SourceError(f"the address is malformed: {error}") from None
    if url.scheme not in {"http", "https"} or not url.raw_host:
        raise SourceError("the address must start with http:// or https:// and name a host")
    if url.raw_user is not None or url.raw_password is not None:
        raise SourceError("the address must not hold a user or password")
    policy.check_literal(url.raw_host)
    return url


def check_encrypted(url: URL, policy: AddressPolicy) -> None:
    """Require HTTPS, except for a host that is allowed by name."""
    if url.scheme != "https" and not policy.allows(url.raw_host or ""):
        raise SourceError(f"the address must start with https://: add it to {policy.setting} if it is meant")


def checked_connector(policy: AddressPolicy) -> "aiohttp.TCPConnector":
    """Return a connector for allowed addresses only. No second lookup follows the check."""

    class CheckedResolver(abc.AbstractResolver):
        async def resolve(
            self,
            host: str,
            port: int = 0,
            family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - both kinds are fine
        ) -> list[abc.ResolveResult]:
            return [
                abc.ResolveResult(
                    hostname=host,
                    host=address,
                    port=port,
                    family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                    proto=0,
                    flags=socket.AI_NUMERICHOST,
                )
                for address in await policy.resolved(host, port)
            ]

        async def close(self) -> None:
            pass

    return aiohttp.TCPConnector(resolver=CheckedResolver(), use_dns_cache=False, force_close=True)
