"""The delivery of reports to webhooks, on the local cloud, with receivers that fail in several ways."""

import asyncio
import json
from datetime import timedelta

import pytest

from shared.azure.cosmos.session import Patch, Session
from shared.azure.outbound import AddressPolicy
from shared.core.times import stored_time
from shared.models.reports import Report
from shared.publishing.webhooks import MAX_ATTEMPTS, TIMEOUT_SECONDS, deliver_due
from tests.publishing.webhooks.receivers import SECRET, hook, published, receiving, reporting
from tests.stages.mail_in import MailIn
from tests.support.cloud import AppCloud
from tests.support.services import RunningService
from tests.support.webhook_receiver import verify_signature


async def deliver(place: MailIn, patience: float = TIMEOUT_SECONDS, **later: float) -> Report:
    """Run deliveries as the timer does, some time later, and return the report."""
    place.now += timedelta(**later)
    await deliver_due(place.clients, place.now, patience=patience)
    (newest,) = await place.stored("reports")
    return await place.clients.store.read(Report, newest["id"], Session(), partition=newest["scope"])


@pytest.mark.requirement("R-508")
async def test_a_report_reaches_every_webhook_signed_and_once(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving() as one, receiving() as other:
        hooks = [hook("one", one.port), hook("other", other.port), hook("weekly", 1, types=["weekly"])]
        async with reporting(cloud, bus_service, *hooks, PUBLIC_URL="https://lists.example.org") as place:
            event = await published(place)
            assert (event.data.notified, event.data.delivery_channels) == (False, [])
            report = await deliver(place)
            assert (report.notified, report.delivery_channels) == (True, ["one", "other"])
            await deliver(place, hours=5)
            for receiver in (one, other):
                ((headers, body),) = receiver.got
                signature = headers["X-Rough-Consensus-Signature"]
                now = (place.now - timedelta(hours=5)).timestamp()
                assert verify_signature(SECRET, body, signature, now)
                assert not verify_signature(SECRET, body + b" ", signature, now)
                assert not verify_signature(SECRET, body, signature, now + 301)
                told = json.loads(body)
                assert told["url"] == f"https://lists.example.org/api/reports/{report.report_id}"
                assert (told["event"], told["title"]) == ("report.published", "TLS")
            assert (
                one.got[0][0]["X-Rough-Consensus-Delivery"] != (other.got[0][0]["X-Rough-Consensus-Delivery"])
            )


async def test_a_webhook_that_is_down_is_tried_again_with_backoff_and_the_other_is_not_held_up(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving((500, {}), (503, {"Retry-After": "900"})) as down, receiving() as well:  # noqa: SIM117
        async with reporting(cloud, bus_service, hook("down", down.port), hook("well", well.port)) as place:
            await published(place)
            report = await deliver(place)
            assert (report.notified, report.delivery_channels) == (False, ["well"])
            assert (report.deliveries[0].status, report.deliveries[0].error) == ("pending", "it answered 500")
            await deliver(place, seconds=29)
            assert len(down.got) == 1
            await deliver(place, seconds=1)
            assert len(down.got) == 2
            await deliver(place, seconds=899)  # it asked for 900, which is longer than our backoff
            assert len(down.got) == 2
            report = await deliver(place, seconds=1)
            assert (report.notified, report.delivery_channels) == (True, ["down", "well"])
            assert len({headers["X-Rough-Consensus-Delivery"] for headers, _ in down.got}) == 1
            assert (len(down.got), len(well.got)) == (3, 1)


@pytest.mark.requirement("R-508")
async def test_after_the_bound_it_is_given_up_and_announced(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving(*[(500, {})] * (MAX_ATTEMPTS + 3)) as receiver:  # noqa: SIM117
        async with reporting(cloud, bus_service, hook("gone", receiver.port)) as place:
            await published(place)
            for _ in range(MAX_ATTEMPTS + 3):
                report = await deliver(place, hours=2)
            assert len(receiver.got) == MAX_ATTEMPTS
            assert (report.deliveries[0].status, report.notified) == ("failed", False)
            assert report.next_delivery_at is None
            (failed,) = [
                event.data
                for event in await place.place.take_all("failures", 1)
                if event.event_type == "ReportDeliveryFailed" and event.data.report_id == report.report_id
            ]
            assert (failed.delivery_channel, failed.retry_count) == ("gone", MAX_ATTEMPTS - 1)
            assert failed.error_message == "it answered 500"


async def test_a_crash_in_an_attempt_counts_as_one_and_does_not_lose_the_report(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving() as receiver:  # noqa: SIM117
        async with reporting(cloud, bus_service, hook("one", receiver.port)) as place:
            await published(place)
            (stored,) = await place.stored("reports")
            # An attempt that never returned leaves this.
            claimed = stored["deliveries"][0] | {
                "attempts": MAX_ATTEMPTS - 1,
                "next_attempt_at": stored_time(place.now + timedelta(seconds=30)),
            }
            left = {"deliveries": [claimed], "next_delivery_at": claimed["next_attempt_at"]}
            patch = Patch(stored["id"], partition=stored["scope"], set=left)
            await place.clients.store.patch(Report, patch, Session())
            await deliver(place)
            assert receiver.got == []
            report = await deliver(place, seconds=31)
            assert (report.deliveries[0].attempts, report.deliveries[0].status) == (
                MAX_ATTEMPTS,
                "delivered",
            )


async def test_two_runs_at_once_deliver_once(cloud: AppCloud, bus_service: RunningService) -> None:
    async with receiving() as receiver, reporting(cloud, bus_service, hook("one", receiver.port)) as place:
        await published(place)
        arrived = await asyncio.gather(*(deliver_due(place.clients, place.now) for _ in range(3)))
        assert (sum(arrived), len(receiver.got)) == (1, 1)


async def test_a_report_that_is_replaced_before_it_gets_through_is_not_sent(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving((500, {})) as receiver:  # noqa: SIM117
        async with reporting(cloud, bus_service, hook("one", receiver.port)) as place:
            await published(place)
            old = await deliver(place)
            place.now += timedelta(minutes=1)
            await published(place, "v2")
            report = await deliver(place, minutes=1)
            assert report.notified
            sent = [json.loads(body)["report_id"] for _, body in receiver.got]
            assert sent == [old.report_id, report.report_id]


async def test_an_address_that_is_not_public_is_refused_at_once_and_redirects_are_not_followed(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving() as inside, receiving() as redirecting:
        target = f"http://127.0.0.1:{inside.port}/hook"
        redirecting.statuses = [(307, {"Location": target})] * 3
        hooks = [
            hook("metadata", 80, url="http://169.254.169.254/latest"),
            hook("rebound", 80, url=f"https://rebinding.example:{inside.port}/hook"),
            hook("plain", 80, url="http://public.example/hook"),
            hook("redirect", 80, url=f"http://allowed.example:{redirecting.port}/hook"),
        ]

        async def resolve(_host: str, _port: int) -> list[str]:
            return ["127.0.0.1"]

        policy = AddressPolicy.parse("allowed.example", resolve, setting="WEBHOOK_ALLOWED_HOSTS")
        async with reporting(cloud, bus_service, *hooks) as place:
            await published(place)
            await deliver_due(place.clients, place.now, policy=policy)
            (report,) = await place.stored("reports")
            states = {delivery["channel"]: delivery for delivery in report["deliveries"]}
            assert inside.got == []
            for name in ("metadata", "rebound", "plain"):
                assert states[name]["status"] == "failed"
                assert "add it to WEBHOOK_ALLOWED_HOSTS" in states[name]["error"]
            assert "must start with https://" in states["plain"]["error"]
            assert states["redirect"]["status"] == "pending"
            assert "redirects are not followed" in states["redirect"]["error"]


async def test_a_webhook_that_left_the_settings_is_given_up(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with reporting(cloud, bus_service, hook("old", 9)) as place:
        await published(place)
        settings = place.clients.settings
        place.clients.settings = settings.model_copy(update={"WEBHOOKS": None})
        report = await deliver(place)
        assert report.deliveries[0].status == "failed"
        assert "no longer in the settings" in (report.deliveries[0].error or "")


async def test_a_receiver_that_hangs_costs_its_timeout_and_no_more(
    cloud: AppCloud, bus_service: RunningService, caplog: pytest.LogCaptureFixture
) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, reporting(cloud, bus_service, hook("slow", port)) as place:
        await published(place)
        report = await deliver(place, patience=0.2)
    assert "TimeoutError" in (report.deliveries[0].error or "")
    assert SECRET not in caplog.text


async def test_a_closed_list_reaches_a_webhook_that_names_it_and_no_other(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving() as one, receiving() as other:
        hooks = [hook("all", one.port), hook("named", other.port, sources=["list"])]
        async with reporting(cloud, bus_service, *hooks, AUTH_MODE="entra") as place:
            await published(place)
            (row,) = await place.stored("reports")
            found = await place.clients.store.read(Report, row["id"], Session(), partition=row["scope"])
            titled = found.model_copy(update={"title": "of ada@example.org"})
            await place.clients.store.upsert(titled, Session())
            report = await deliver(place)
            assert [delivery.status for delivery in report.deliveries] == ["failed", "delivered"]
            assert "does not name the source" in (report.deliveries[0].error or "")
            assert one.got == []
            ((_, body),) = other.got
            assert json.loads(body)["title"] == "of a**@example.org"
