"""Spans from the local telemetry receiver, where the settings name one.

In Azure spans are in Application Insights, which has its own page for them: there this gives none.
"""

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

import aiohttp

from shared.core.errors import TransientError

ATTRIBUTES = {
    "archives": "pipeline.archive_id",
    "threads": "pipeline.thread_id",
    "messages": "pipeline.message_key",
    "chunks": "pipeline.chunk_id",
    "summaries": "pipeline.summary_id",
    "reports": "pipeline.report_id",
}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SECONDS = 5
OK = 200
_TRACE = re.compile(r"[0-9a-f]{32}")


class NoReceiverError(TransientError):
    """The telemetry receiver does not answer."""


def receiver_address(connection: str | None) -> str | None:
    """The receiver's address in APPLICATIONINSIGHTS_CONNECTION_STRING, if that is on this machine."""
    fields = dict(part.partition("=")[::2] for part in (connection or "").split(";") if part)
    address = fields.get("IngestionEndpoint", "").rstrip("/")
    return address if urlsplit(address).hostname in LOOPBACK else None


async def spans_about(address: str, id_: str, containers: Sequence[str]) -> list[dict[str, Any]]:
    """Whole traces that have to do with it; NoReceiverError where nothing answers there."""
    found: list[dict[str, Any]] = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session:
        for path in _questions(id_, containers):
            try:
                async with session.get(address + path) as answer:
                    if answer.status == OK:
                        found += json.loads(await answer.read()).get("spans", [])
            except (aiohttp.ClientError, TimeoutError):
                raise NoReceiverError(f"the telemetry receiver at {address} does not answer") from None
    return found


def _questions(id_: str, containers: Sequence[str]) -> list[str]:
    if _TRACE.fullmatch(id_):
        return [f"/api/traces/{id_}"]
    names = [ATTRIBUTES[container] for container in containers if container in ATTRIBUTES] or [
        "pipeline.event_id"
    ]
    return [f"/api/timeline?{urlencode({name: id_})}" for name in names]
