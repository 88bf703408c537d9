"""Digests by e-mail, on the local cloud and with a real mail server: asked for, confirmed, sent, ended."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from email.message import EmailMessage

import pytest

from shared.azure.access import ANYBODY, Caller
from shared.azure.cosmos.session import Session
from shared.core.ids import address_key, subscription_id
from shared.core.runtime import Runtime
from shared.models.reports import Cadence, Report, Subscription, Topic, TopicKind
from shared.models.sources import Source
from shared.publishing.subscriptions import (
    MAX_ATTEMPTS,
    MAX_OPEN,
    MailNotSentError,
    confirm,
    find_subscription,
    forget_address,
    send_due_digests,
    subscribe,
    unsubscribe,
)
from tests.publishing.email.mail_server import MailServer, mail_server
from tests.publishing.webhooks.receivers import published, reporting
from tests.stages.mail_in import MailIn
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

READER = "reader@example.org"
LIST = Topic(kind=TopicKind.SOURCES, name="list")
KEY = address_key(READER)
READER_ROLE = frozenset({"reader"})
CLOSED_SOURCE = {"id": "list", "name": "list", "source_type": "upload", "url": "", "readers": ["board"]}
ID = subscription_id(KEY, "sources", "list")


@asynccontextmanager
async def mailing(
    cloud: AppCloud, bus: RunningService, **more: str
) -> AsyncIterator[tuple[MailIn, MailServer]]:
    async with mail_server() as server:
        settings = {
            "SMTP_URL": f"smtp://127.0.0.1:{server.port}",
            "EMAIL_FROM": "digests@lists.example.org", "EMAIL_SECRET": "s" * 16,
            "PUBLIC_URL": "https://lists.example.org", **more,
        }  # fmt: skip
        async with reporting(cloud, bus, **settings) as place:
            place.clients.runtime = Runtime(now=lambda: place.now)
            yield place, server


async def subscribed(place: MailIn) -> Subscription:
    await subscribe(place.clients, READER, LIST, Cadence.DAILY)
    await confirm(place.clients, await stored(place))
    place.now += timedelta(seconds=1)
    return await stored(place)


async def stored(place: MailIn) -> Subscription:
    found = await find_subscription(place.clients, KEY, ID)
    assert found is not None
    return found


async def run(place: MailIn, **later: float) -> int:
    place.now += timedelta(**later)
    return await send_due_digests(place.clients, place.now)


def words(mail: EmailMessage) -> tuple[str, str]:
    plain, rich = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None
    assert rich is not None
    return plain.get_content(), rich.get_content()


async def test_nothing_is_sent_before_the_address_has_confirmed(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mailing(cloud, bus_service) as (place, server):
        await subscribe(place.clients, READER, LIST, Cadence.DAILY)
        await published(place)
        assert await run(place, days=3) == 0
        (asking,) = server.got
        plain, rich = words(asking)
        link = re.search(r"https://lists\.example\.org/subscriptions/confirm\?\S+", plain)
        assert link is not None
        assert link[0].replace("&", "&amp;") in rich
        assert server.recipients == [READER]


async def test_a_digest_tells_what_is_new_once_and_how_to_end_it(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mailing(cloud, bus_service) as (place, server):
        await subscribed(place)
        await published(place)
        assert await run(place, hours=23) == 0
        assert await run(place, hours=2) == 1
        digest = server.got[1]
        plain, rich = words(digest)
        assert digest["Subject"] == "1 report on the list list"
        for said in (plain, rich):
            assert "TLS" in said
            assert "https://lists.example.org/threads/" in said
        assert "/subscriptions/unsubscribe?" in digest["List-Unsubscribe"]
        assert digest["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert await run(place, days=2) == 0  # nothing is new
        await unsubscribe(place.clients, await stored(place))
        assert await find_subscription(place.clients, KEY, ID) is None
        assert len(server.got) == 2


async def test_a_server_that_is_down_gets_the_same_mail_later_and_nothing_is_left_out(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mailing(cloud, bus_service) as (place, server):
        await subscribed(place)
        await published(place)
        server.refusals += ["451 later"] * (MAX_ATTEMPTS + 1)
        assert [await run(place, days=1)] + [await run(place, hours=1) for _ in range(MAX_ATTEMPTS)] == [
            0
        ] * 9
        put_off = await stored(place)
        assert (put_off.attempts, put_off.until, "451" in (put_off.error or "")) == (0, None, True)
        server.refusals.clear()
        assert await run(place, days=1) == 1
        assert "TLS" in words(server.got[-1])[0]


async def test_an_address_that_is_refused_for_good_gets_no_more_after_three_digests(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mailing(cloud, bus_service) as (place, server):
        await subscribed(place)
        await published(place)
        server.refusals += ["550 nobody here"] * 3
        for _ in range(5):
            await run(place, days=1, minutes=1)
        suspended = await stored(place)
        assert (suspended.refusals, suspended.next_due_at, server.refusals) == (3, None, [])


async def test_two_instances_send_one_mail(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mailing(cloud, bus_service) as (place, server):
        subscription = await subscribed(place)
        await published(place)
        place.now += timedelta(days=2)
        assert await run(place) == 1
        late = await place.clients.store.replace(subscription, Session())
        assert not isinstance(late, Subscription)  # who stood still meanwhile changes nothing
        assert await run(place) == 0
        assert len(server.got) == 2


async def test_the_form_cannot_flood_an_address(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mailing(cloud, bus_service) as (place, server):
        for _ in range(3):
            await subscribe(place.clients, READER, LIST, Cadence.DAILY)
        assert len(server.got) == 1
        for number in range(5):
            topic = Topic(kind=TopicKind.SOURCES, name=f"list-{number}")
            await subscribe(place.clients, READER, topic, Cadence.DAILY)
        assert len(server.got) == MAX_OPEN
        place.now += timedelta(hours=2)
        await subscribe(place.clients, READER.upper(), LIST, Cadence.DAILY)
        assert len(server.got) == MAX_OPEN + 1
        assert await forget_address(place.clients, READER) == MAX_OPEN
        assert await forget_address(place.clients, READER) == 0


async def test_a_request_whose_mail_was_not_sent_says_so(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mailing(cloud, bus_service) as (place, server):
        server.refusals += ["451 later"]
        with pytest.raises(MailNotSentError, match="451"):
            await subscribe(place.clients, READER, LIST, Cadence.DAILY)


async def test_at_a_site_with_accounts_a_digest_has_what_the_account_that_confirmed_may_read(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mailing(cloud, bus_service, AUTH_MODE="entra") as (place, server):
        await published(place)
        (row,) = await place.stored("reports")
        report = await place.clients.store.read(Report, row["id"], Session(), partition=row["scope"])
        report = report.model_copy(update={"draft_mentions": ["rfc1"], "title": "TLS of ada@example.org"})
        await place.clients.store.upsert(report, Session())
        source = Source.model_validate(CLOSED_SOURCE | {"created_at": place.now})
        await place.clients.store.upsert(source, Session())
        outsider, member = (
            Caller("o", READER_ROLE, frozenset({"other"})),
            Caller("m", READER_ROLE, frozenset({"board"})),
        )
        draft = Topic(kind=TopicKind.DRAFTS, name="rfc1", label="rfc1")
        place.now -= timedelta(days=1)
        for address, topic, caller in (
            ("o@example.org", draft, outsider),
            ("o@example.org", LIST, outsider),
            ("m@example.org", draft, member),
            ("before@example.org", draft, ANYBODY),
        ):
            await subscribe(place.clients, address, topic, Cadence.DAILY)
            key = address_key(address)
            subscription = await find_subscription(
                place.clients, key, subscription_id(key, topic.kind, topic.name)
            )
            assert subscription is not None
            await confirm(place.clients, subscription, caller)
        asked = len(server.got)
        assert all(
            "rfc1" not in part and "the list" not in part for mail in server.got for part in words(mail)
        )
        place.now += timedelta(days=1)
        await run(place, hours=2)
        sent = {str(mail["To"]): " ".join(words(mail)) for mail in server.got[asked:]}
        assert set(sent) == {"m@example.org", "before@example.org"}
        assert "TLS of a**@example.org" in sent["m@example.org"]
        assert "confirm" in sent["before@example.org"]
        # Half a year later the account confirms anew, or its subscription ends.
        asked = len(server.got)
        await run(place, days=181)
        assert "confirm" in words(server.got[-1])[0]
        assert {str(mail["To"]) for mail in server.got[asked:]} == {"m@example.org", "o@example.org"}
