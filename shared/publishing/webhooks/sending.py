"""One delivery attempt to a webhook: checked address (SSRF), bounded time, no redirects."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shared.clients.classify import retry_after_seconds
from shared.clients.outbound import (
    AddressPolicy,
    FetchError,
    ForbiddenAddressError,
    SourceError,
    check_http_url,
)
from shared.core.ids import delivery_id
from shared.core.lazy_import import lazy
from shared.documents.reports import Report
from shared.settings.outgoing import Webhook

if TYPE_CHECKING:
    import aiohttp

    from shared.clients import outbound
else:  # the stage that plans deliveries imports this module, and sends nothing
    aiohttp = lazy("aiohttp")
    outbound = lazy("shared.clients.outbound")

_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)


class NotDeliveredError(Exception):
    """The receiver did not accept it. `for_good`: another attempt would end the same way."""

    def __init__(self, message: str, *, retry_after: float | None = None, for_good: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.for_good = for_good


@dataclass(frozen=True, slots=True)
class SendOptions:
    now: datetime
    seconds: float = 10.0
    public_url: str = ""


def payload(report: Report, public_url: str) -> bytes:
    """The report's facts and its address. It contains no text of mails."""
    path = f"/api/reports/{report.id}"
    stored = report.to_cosmos()
    facts: dict[str, Any] = {
        name: stored[name]
        for name in (
            "report_id", "summary_id", "summary_type", "scope", "thread_id", "thread_ids", "source", "title",
            "published_at", "has_consensus", "consensus_type", "outcome", "counts",
            "draft_mentions", "first_message_date", "last_message_date",
        )
    }  # fmt: skip
    body = {"event": "report.published", **facts, "url": f"{public_url.rstrip('/')}{path}"}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def sign(secret: str, body: bytes, at: int) -> str:
    """HMAC-SHA256 over the time and the body, so that neither can be changed."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


async def send(hook: Webhook, report: Report, policy: AddressPolicy, *, options: SendOptions) -> None:
    """Deliver the report, or raise NotDeliveredError."""
    body = payload(report, options.public_url)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "rough-consensus",
        "X-Rough-Consensus-Event": "report.published",
        "X-Rough-Consensus-Delivery": delivery_id(report.id, hook.name),
        "X-Rough-Consensus-Signature": sign(
            hook.secret.get_secret_value(), body, int(options.now.timestamp())
        ),
    }
    try:
        url = check_http_url(hook.url, policy)
        timeout = aiohttp.ClientTimeout(total=options.seconds)
        async with (
            aiohttp.ClientSession(
                connector=outbound.checked_connector(policy),
                timeout=timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
            ) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            _check(response.status, retry_after_seconds(response.headers, now=options.now))
    except (ForbiddenAddressError, SourceError) as error:
        raise NotDeliveredError(str(error), for_good=True) from error
    except (aiohttp.ClientError, FetchError, TimeoutError, OSError) as error:
        raise NotDeliveredError(f"{type(error).__name__}: {error}"[:300]) from error


def _check(status: int, retry_after: float | None) -> None:
    if status in _SUCCESS:
        return
    if status in _REDIRECTS:
        raise NotDeliveredError(f"it answered {status}: redirects are not followed; set its final address")
    raise NotDeliveredError(f"it answered {status}", retry_after=retry_after)
