"""Sources over HTTP from a real server: conditional, resumed, redirected, bounded."""

import pytest

from shared.azure.cosmos.session import Session
from shared.core.ids import file_hash
from shared.models.records import FailureRecord
from shared.models.sources import OperationStatus
from tests.ingestion.environment import Place
from tests.ingestion.web_server import a_site

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.requirement("R-301")
async def test_a_new_file_is_stored_and_the_cursor_kept(place: Place) -> None:
    async with a_site(content=place.mbox("one"), last_modified="Thu, 01 Jan 2026 00:00:00 GMT") as site:
        await place.add_source("http", site.url("/lists/2026-01.mbox"))
        done = await place.run()
    assert done.status is OperationStatus.SUCCEEDED
    (fetched,) = done.archives
    archive = await place.archive(fetched.archive_id)
    assert (archive.source, archive.source_type) == (f"src-{place.tag}", "http")
    assert archive.file_path.endswith("/2026-01.mbox")
    assert await place.blob(archive) == site.content
    source = await place.source()
    assert source.cursor["etag"] == '"1"'
    assert source.cursor["last_modified"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert (source.lease_owner, source.last_fetch_error) == (None, None)
    assert source.last_success_at == place.time
    (event,) = await place.announced(1)
    assert event.data.source_url == site.url("/lists/2026-01.mbox")


async def test_a_file_that_did_not_change_is_not_fetched_again(place: Place) -> None:
    async with a_site(content=place.mbox("one")) as site:
        await place.add_source("http", site.url())
        await place.run()
        again = await place.run()
        assert again.status is OperationStatus.SUCCEEDED
        assert again.archives == []
        site.content, site.etag = place.mbox("one", "two"), '"2"'
        (changed,) = (await place.run()).archives
    assert site.asked_for("If-None-Match") == [None, '"1"', '"1"']
    assert (await place.archive(changed.archive_id)).file_hash == file_hash(site.content)
    assert len(await place.announced(2)) == 2


async def test_a_file_that_is_the_same_under_another_etag_is_a_duplicate(place: Place) -> None:
    async with a_site(content=place.mbox("one")) as site:
        await place.add_source("http", site.url())
        await place.run()
        site.etag = '"2"'
        (again,) = (await place.run()).archives
    assert again.duplicate
    assert len(await place.announced(1)) == 1


@pytest.mark.parametrize(
    ("etag", "last_modified", "resumes"),
    [
        ('"1"', None, True),
        (None, "Thu, 01 Jan 2026 00:00:00 GMT", True),
        ('W/"1"', None, False),
        (None, None, False),
    ],
)
async def test_a_broken_transfer_goes_on_where_it_broke_if_the_file_can_be_known_again(
    place: Place, etag: str | None, last_modified: str | None, resumes: bool
) -> None:
    content = place.mbox(*map(str, range(3000)))
    async with a_site(
        content=content, etag=etag, last_modified=last_modified, break_after=[200_000, 100_000]
    ) as site:
        await place.add_source("http", site.url())
        (fetched,) = (await place.run()).archives
    assert (await place.archive(fetched.archive_id)).file_hash == file_hash(content)
    asked = site.asked_for("Range")
    assert len(asked) == 3
    assert (asked[1] is not None) is resumes
    assert place.slept == [5, 10]
    await place.announced(1)


async def test_a_file_that_changed_while_it_broke_off_is_fetched_from_the_start(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = place.mbox(*map(str, range(3000)))
    async with a_site(content=content, break_after=[150_000]) as site:
        await place.add_source("http", site.url())
        changed = place.mbox(*map(str, range(2000)))

        async def change(_seconds: float) -> None:
            site.content, site.etag = changed, '"2"'

        monkeypatch.setattr(place, "sleep", change)
        (fetched,) = (await place.run()).archives
    assert (await place.archive(fetched.archive_id)).file_hash == file_hash(changed)
    await place.announced(1)


@pytest.mark.parametrize("wrong", [{"ranges": False}, {"wrong_range": True}])
async def test_a_server_that_cannot_do_ranges_right_costs_time_and_no_bytes(
    place: Place, wrong: dict[str, bool]
) -> None:
    content = place.mbox(*map(str, range(3000)))
    async with a_site(content=content, break_after=[150_000], **wrong) as site:
        await place.add_source("http", site.url())
        (fetched,) = (await place.run()).archives
    assert (await place.archive(fetched.archive_id)).file_hash == file_hash(content)
    await place.announced(1)


async def test_a_busy_server_is_asked_again_when_it_says(place: Place) -> None:
    async with a_site(content=place.mbox("one"), statuses=[(503, {"Retry-After": "33"}), (429, {})]) as site:
        await place.add_source("http", site.url())
        assert (await place.run()).status is OperationStatus.SUCCEEDED
    assert place.slept == [33, 10]
    await place.announced(1)


async def test_a_failure_is_recorded_announced_and_shown_on_the_source_and_the_next_fetch_heals_it(
    place: Place,
) -> None:
    async with a_site(content=place.mbox("one"), statuses=[(500, {})] * 4) as site:
        await place.add_source("http", site.url())
        failed = await place.run()
        assert failed.status is OperationStatus.FAILED
        assert "FetchError" in (failed.error or "")
        (told,) = await place.failures(1)
        assert (told.event_type, told.data.error_type) == ("ArchiveIngestionFailed", "FetchError")
        assert (told.data.source_url, told.data.retry_count) == (site.url(), 4)
        source = await place.source()
        assert "answered 500" in (source.last_fetch_error or "")
        assert source.lease_owner is None
        record = await place.clients.store.read(
            FailureRecord, f"ingestion-src-{place.tag}-1", Session(), partition="ingestion"
        )
        assert (record.stage, record.attempt_count) == ("ingestion", 4)
        place.later(hours=1)
        assert (await place.run()).status is OperationStatus.SUCCEEDED
        assert (await place.source()).last_fetch_error is None
    await place.announced(1)


@pytest.mark.parametrize("status", [403, 404, 418])
async def test_a_refusal_is_permanent_and_not_repeated(place: Place, status: int) -> None:
    async with a_site(statuses=[(status, {})]) as site:
        await place.add_source("http", site.url())
        failed = await place.run()
    assert f"the server answered {status}; check the source's address" in (failed.error or "")
    assert (len(site.asked), place.slept) == (1, [])
    await place.failures(1)


async def test_what_a_link_is_signed_with_does_not_stand_in_the_error_that_readers_see(place: Place) -> None:
    async with a_site(redirects={"/list.mbox": "/b?sig=5ecret", "/b": ""}) as site:
        await place.add_source("http", site.url())
        failed = await place.run()
    assert f"{site.url('/b')}?...: a redirect without a target" in (failed.error or "")
    assert "5ecret" not in f"{failed.error} {(await place.source()).last_fetch_error}"
    await place.failures(1)


async def test_redirects_are_followed_within_bounds(place: Place) -> None:
    async with a_site(
        content=place.mbox("one"), redirects={"/a": "/b", "/b": "list.mbox", "/loop": "/loop"}
    ) as site:
        await place.add_source("http", site.url("/a"))
        assert (await place.run()).status is OperationStatus.SUCCEEDED
        other = place.fresh()
        await other.add_source("http", site.url("/loop"))
        assert "more than 5 redirects" in ((await other.run()).error or "")
    await place.announced(1)
    await place.failures(1)


@pytest.mark.parametrize(
    "target",
    [
        "http://10.0.0.1/x",
        "http://169.254.169.254/metadata/instance",
        "http://168.63.129.16/machine",
        "http://[::1]/",
        "http://2130706434/",
        "file:///etc/passwd",
        "ftp://example.org/x",
        "http://user:secret@127.0.0.1/",
        "//0x7f.1.1.1/",
    ],
)
async def test_a_redirect_to_where_a_source_may_not_lead_is_refused(place: Place, target: str) -> None:
    async with a_site(redirects={"/list.mbox": target}) as site:
        await place.add_source("http", site.url())
        failed = await place.run()
    assert failed.status is OperationStatus.FAILED
    assert (failed.error or "").startswith(("ForbiddenAddressError", "SourceError"))
    assert "secret" not in (failed.error or "")
    assert place.slept == []
    await place.failures(1)


@pytest.mark.parametrize("announced", [True, False])
async def test_a_file_above_the_limit_is_given_up_as_soon_as_that_is_known(
    place: Place, announced: bool
) -> None:
    small = place.fresh(ARCHIVE_MAX_BYTES=100_000)
    async with a_site(content=place.mbox("one") + bytes(200_000), endless=not announced) as site:
        await small.add_source("http", site.url())
        failed = await small.run()
    assert "more than 100000 bytes" in (failed.error or "")
    assert small.slept == []
    await place.failures(1)


async def test_what_is_no_archive_fails_the_fetch_with_what_it_is(place: Place) -> None:
    async with a_site(content=b"<!DOCTYPE html><title>Sign in</title>") as site:
        await place.add_source("http", site.url())
        failed = await place.run()
    assert "it is a web page" in (failed.error or "")
    (told,) = await place.failures(1)
    assert told.data.error_type == "UnsupportedArchiveError"
    assert (await place.source()).cursor == {}


async def test_a_name_that_resolves_to_a_private_address_is_refused_and_never_connected_to(
    place: Place,
) -> None:
    looked_up = []

    async def resolve(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["93.184.216.34", "127.0.0.1"] if host == "half.example" else ["127.0.0.1"]

    async with a_site(content=place.mbox("one")) as site:
        for host in ("inside.example", "half.example"):
            other = place.fresh(SOURCE_ALLOWED_HOSTS="")
            await other.add_source("http", f"http://{host}:{site.port}/list.mbox")
            failed = await other.run(resolve=resolve)
            assert "127.0.0.1 is not a public address" in (failed.error or "")
        assert site.asked == []
    assert looked_up == ["inside.example", "half.example"]
    await place.failures(2)


async def test_the_checked_address_is_the_one_connected_to_however_the_name_changes(place: Place) -> None:
    """Against DNS rebinding each connection looks the name up once and uses the checked address."""
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    async with a_site(content=place.mbox("one")) as site:
        allowed = place.fresh(SOURCE_ALLOWED_HOSTS="127.0.0.0/8")
        await allowed.add_source("http", f"http://rebind.example:{site.port}/list.mbox")
        assert (await allowed.run(resolve=resolve)).status is OperationStatus.SUCCEEDED
        assert site.asked[0].host == f"rebind.example:{site.port}"
        allowed.later(minutes=5)
        assert "10.0.0.1 is not a public address" in ((await allowed.run(resolve=resolve)).error or "")
    await place.announced(1)
    await place.failures(1)
