"""The counts of active messages and dead letters of each queue, if the app has the right to read them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azure.core.exceptions import ClientAuthenticationError, HttpResponseError

from shared.azure.calls import Calls
from shared.settings.app import Settings
from shared.settings.outgoing import LOOPBACK, connection_fields

if TYPE_CHECKING:
    from azure.servicebus.aio.management import ServiceBusAdministrationClient

FORBIDDEN = 403


@dataclass(frozen=True)
class QueueCounts:
    active: int
    dead_lettered: int


async def queue_counts(
    settings: Settings, queues: Iterable[str], calls: Calls
) -> dict[str, QueueCounts] | None:
    """Return the counts by queue, or None if the app has no right to read them."""
    from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415 - once a minute, and not for a start

    async with (
        DefaultAzureCredential(managed_identity_client_id=settings.AZURE_CLIENT_ID) as identity,
        _administration(settings, identity) as administration,
    ):
        counts: dict[str, QueueCounts] = {}
        try:
            for queue in queues:
                async with calls.measured("count"):
                    found = await administration.get_queue_runtime_properties(queue)
                dead = found.dead_letter_message_count or 0
                counts[queue] = QueueCounts(found.active_message_count or 0, dead)
        except ClientAuthenticationError:
            return None
        except HttpResponseError as error:
            if error.status_code == FORBIDDEN:
                return None
            raise
        return counts


def _administration(settings: Settings, identity: Any) -> "ServiceBusAdministrationClient":
    from azure.servicebus.aio.management import ServiceBusAdministrationClient  # noqa: PLC0415 - the same

    connect: Callable[..., ServiceBusAdministrationClient] = (
        ServiceBusAdministrationClient.from_connection_string
    )
    if settings.SERVICEBUS_CONNECTION is None:
        return ServiceBusAdministrationClient(
            settings.SERVICEBUS_CONNECTION__fullyQualifiedNamespace or "", identity
        )
    connection = settings.SERVICEBUS_CONNECTION.get_secret_value()
    local = urlsplit(settings.SERVICEBUS_ADMIN_ENDPOINT or "")
    if local.hostname not in LOOPBACK:
        return connect(connection)
    # An emulator has a separate port for this, with a self-signed certificate.
    fields = {**connection_fields(connection), "Endpoint": f"sb://{local.netloc}"}
    moved = ";".join(f"{name}={value}" for name, value in fields.items() if name != "UseDevelopmentEmulator")
    return connect(moved, connection_verify=False)
