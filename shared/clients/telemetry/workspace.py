"""Queries to a Log Analytics workspace, where Application Insights keeps what the app sent.

For the operator's machine: the package is in the extra `ops`, and not in what is deployed.
"""

import json
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shared.core.errors import TransientError
from shared.core.lazy_import import lazy
from shared.settings.outgoing import LOOPBACK

if TYPE_CHECKING:
    from azure.core import exceptions as azure_errors
    from azure.core.pipeline import policies
    from azure.identity import aio as identity_aio
    from azure.monitor.query import aio as query_aio
else:
    azure_errors = lazy("azure.core.exceptions")
    policies = lazy("azure.core.pipeline.policies")
    identity_aio = lazy("azure.identity.aio")
    query_aio = lazy("azure.monitor.query.aio")

ENDPOINT = "https://api.loganalytics.io"
LOOKED_BACK = timedelta(days=90)
QUICKLY = {"connection_timeout": 5, "read_timeout": 60, "retry_total": 2}  # an operator waits


class LogsUnreadError(TransientError):
    """The workspace could not be asked."""


@dataclass(frozen=True)
class Workspace:
    """A workspace by its id (LOG_WORKSPACE_ID); other clouds than the public one have another endpoint."""

    id: str
    endpoint: str = ENDPOINT

    async def ask(self, *queries: str) -> list[list[dict[str, Any]]]:
        """The rows of each query. LogsUnreadError where they cannot be had."""
        async with AsyncExitStack() as exit_stack:
            try:
                client = await exit_stack.enter_async_context(await self._client(exit_stack))
                return [await self._rows(client, query) for query in queries]
            except ModuleNotFoundError as error:
                raise LogsUnreadError(f"{error.name} is not installed: pip install .[ops]") from error
            except azure_errors.AzureError as error:
                said = str(error).partition("\n")[0][:300]
                raise LogsUnreadError(f"Application Insights could not be asked: {said}") from error

    async def _client(self, exit_stack: AsyncExitStack) -> "query_aio.LogsQueryClient":
        identity = await exit_stack.enter_async_context(identity_aio.DefaultAzureCredential())
        options: dict[str, Any] = {"endpoint": self.endpoint, **QUICKLY}
        if urlsplit(self.endpoint).hostname in LOOPBACK:  # nobody to sign in to
            options["authentication_policy"] = policies.SansIOHTTPPolicy()
        return query_aio.LogsQueryClient(identity, **options)

    async def _rows(self, client: "query_aio.LogsQueryClient", query: str) -> list[dict[str, Any]]:
        answer: Any = await client.query_workspace(self.id, query, timespan=LOOKED_BACK)
        # Of a query that took too long there is a part, which is better than nothing.
        tables = answer.partial_data if hasattr(answer, "partial_data") else answer.tables
        return [_row(table.columns, row) for table in tables for row in table.rows]


def _row(columns: list[str], row: Any) -> dict[str, Any]:
    """Dynamic columns come as JSON text."""
    found = dict(zip(columns, row, strict=True))
    if isinstance(found.get("Properties"), str):
        found["Properties"] = json.loads(found["Properties"])
    return found
