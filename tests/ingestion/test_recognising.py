"""A pasted address: the source behind it, the fetched files, and the refused addresses."""

import gzip
from datetime import date

import pytest

from shared.azure.outbound import ForbiddenAddressError, SourceError
from shared.ingestion.fetch_http import month_address
from shared.ingestion.recognising import recognise
from shared.models.sources import OperationStatus
from tests.ingestion.environment import Place
from tests.ingestion.web_server import a_site

pytestmark = pytest.mark.asyncio(loop_scope="module")
PIPERMAIL = b"""<html><a href="thread.html">by thread</a>
<a href="2026-March/thread.html">[ Thread ]</a><a href="2026-March.txt.gz">[ Gzip'd Text 5 KB ]</a>
<a href="2026-February.txt">[ Text 2 KB ]</a><a href="2026-February.txt.gz">[ Gzip'd Text 1 KB ]</a>
<a href="notes.txt">notes</a><a href="https://elsewhere.example/2026-May.txt">other</a>
<a href="../other/2026-May.txt">above</a><a href="http://[broken">x</a></html>"""
INBOX = b"""<html><pre><a href="_/text/help/">help</a> / <a href="_/text/mirror/">mirror</a>
<a href="2024-01.mbox.gz">not a list of archives</a></pre></html>"""


async def test_a_page_of_pipermail_is_recognised_and_each_month_is_fetched_once(place: Place) -> None:
    async with a_site() as site:
        site.files = {
            "/pipermail/dev/": PIPERMAIL,
            "/pipermail/dev/2026-March.txt.gz": gzip.compress(place.mbox("march")),
            "/pipermail/dev/2026-February.txt.gz": gzip.compress(place.mbox("february")),
        }
        found = await recognise(site.url("/pipermail/dev/"), place.clients)
        assert (found.source_type, found.name, found.files) == (
            "index", "dev", ("2026-March.txt.gz", "2026-February.txt.gz"),
        )  # fmt: skip
        assert found.archive_template.endswith("/pipermail/dev/{year}-{month_name}/thread.html")
        await place.add_source(found.source_type, found.url)
        first = await place.run()
        assert (first.status, len(first.archives)) == (OperationStatus.SUCCEEDED, 2)
        site.files["/pipermail/dev/2026-March.txt.gz"] = gzip.compress(place.mbox("march", "later"))
        again = await place.run()
        assert [archive.filename for archive in again.archives] == ["2026-March.txt.gz"]
        assert "/pipermail/other/2026-May.txt" not in {request.path for request in site.asked}


async def test_a_public_inbox_is_recognised_and_fetched_by_months(place: Place) -> None:
    async with a_site() as site:
        january = str(month_address(site.url("/git/"), date(2026, 1, 1)).relative())
        march = str(month_address(site.url("/git/"), date(2026, 3, 1)).relative())
        site.files = {"/git/": INBOX}
        found = await recognise(site.url("/git/"), place.clients)
        assert (found.source_type, found.name) == ("public-inbox", "git")
        assert found.archive_template == site.url("/git/{message_id}/")
        site.files |= {
            january: gzip.compress(place.mbox("january")), march: gzip.compress(place.mbox("march")),
        }  # fmt: skip
        await place.add_source(found.source_type, found.url, settings={"since": "2026-01-15"})
        first = await place.run()
        assert [archive.filename for archive in first.archives] == ["2026-01.mbox.gz", "2026-03.mbox.gz"]
        site.asked.clear()
        await place.run()
        assert [(request.method, request.path_qs) for request in site.asked] == [("POST", march)]


@pytest.mark.parametrize(
    ("address", "kind", "name"),
    [
        ("rsync://rsync.example.org/lists/tls/", "rsync", "tls"),
        ("rsync.example.org::lists/tls", "rsync", "tls"),
        ("imaps://mail.example.org/Lists", "imap", "lists"),
        ("https://mailarchive.ietf.org/arch/browse/TLS/?q=x", "rsync", "tls"),
    ],
)
async def test_other_addresses_are_known_by_their_form(
    place: Place, address: str, kind: str, name: str
) -> None:
    found = await recognise(f"  {address} ", place.clients)
    assert (found.source_type, found.name) == (kind, name)
    if "ietf" in address:
        assert (found.preset, found.url) == ("ietf", "rsync://rsync.ietf.org/mailman-archive/tls/")


async def test_one_archive_is_recognised_by_its_first_bytes(place: Place) -> None:
    for content in (place.mbox("one"), gzip.compress(place.mbox("one"))):
        async with a_site(content=content) as site:
            found = await recognise(site.url("/a/My%20List.mbox"), place.clients)
            assert (found.source_type, found.name) == ("http", "my-list")


@pytest.mark.parametrize("content", [b"<html>nothing here</html>", b"", b"\x00\x01\x02"])
async def test_what_is_no_mail_is_refused_with_what_was_looked_for(place: Place, content: bytes) -> None:
    async with a_site(content=content) as site:
        with pytest.raises(SourceError, match="there is no archive, no public-inbox, and no page"):
            await recognise(site.url("/x/"), place.clients)


async def test_a_look_reads_a_bounded_part_of_an_endless_answer(place: Place) -> None:
    async with a_site(content=b"<html>", endless=True) as site:
        with pytest.raises(SourceError, match="there is no archive"):
            await recognise(site.url("/x/"), place.clients)


@pytest.mark.parametrize("address", ["", "x" * 3000, "a\nb", "ftp://example.org/", "hello there"])
async def test_what_is_no_address_is_refused(place: Place, address: str) -> None:
    with pytest.raises((SourceError, ForbiddenAddressError)):
        await recognise(address, place.clients)


async def test_an_address_inside_is_not_looked_at(place: Place) -> None:
    inside = place.fresh(SOURCE_ALLOWED_HOSTS="")
    with pytest.raises(ForbiddenAddressError):
        await recognise("http://169.254.169.254/metadata/", inside.clients)
