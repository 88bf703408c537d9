"""Recognize the type of a source from its address, with at most one request of limited size."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from yarl import URL

from shared.azure.connections import Clients
from shared.azure.outbound import AddressPolicy, SourceError, check_http_url, redacted_url
from shared.ingestion.archive_members import ZIP_MAGIC
from shared.ingestion.fetcher import FetchContext
from shared.ingestion.index_pages import archive_links, is_public_inbox
from shared.ingestion.tar import BLOCK, is_tar_header
from shared.ingestion.unpacked_streams import compression_of
from shared.models.sources import NAME_PATTERN, Source, SourceType
from shared.models.values import Preset

LONGEST_ADDRESS = 2000
LOOKED_AT = 512 * 1024
LOOK_SECONDS = 15.0
SHOWN_FILES = 5
NIGHTLY = "0 30 4 * * *"
_IETF = re.compile(r"/arch/(?:browse|msg)/([A-Za-z0-9._-]+)/?.*")
_BARE_HOST = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:\d+)?(/.*)?")
_HEADER = re.compile(
    rb"(?:Return-Path|Received|From|Date|Subject|Message-ID|MIME-Version|Delivered-To): ", re.IGNORECASE
)
_RSYNC = re.compile(r"[A-Za-z0-9.-]+::.+")


@dataclass(frozen=True, slots=True)
class SourceProposal:
    source_type: SourceType
    url: str
    name: str
    found: str  # One sentence that describes the content.
    preset: Preset = Preset.FREE
    archive_template: str = ""
    files: tuple[str, ...] = ()  # Examples of the files that would be fetched.


async def recognise(text: str, clients: Clients, policy: AddressPolicy | None = None) -> SourceProposal:
    """Propose a source for the address. Raise SourceError or FetchError with the reason if that fails."""
    address = text.strip()
    if not address or len(address) > LONGEST_ADDRESS or not address.isprintable():
        raise SourceError("paste one address, such as https://lists.example.org/pipermail/my-list/")
    if address.startswith("rsync://") or _RSYNC.fullmatch(address):
        return SourceProposal(SourceType.RSYNC, address, _name_of(address), "a folder, fetched by rsync")
    if address.startswith(("imap://", "imaps://")):
        return SourceProposal(SourceType.IMAP, address, _name_of(address), "a mailbox, fetched by IMAP")
    if "://" not in address and _BARE_HOST.fullmatch(address):
        address = f"https://{address}"
    used = policy or AddressPolicy.parse(clients.settings.SOURCE_ALLOWED_HOSTS)
    url = check_http_url(address, used)
    if url.host == "mailarchive.ietf.org" and (listed := _IETF.fullmatch(url.path)):
        # The pages of the IETF give files only to accounts. The same mail is public by rsync, a file for each
        # month.
        name, template = listed[1].lower(), "https://mailarchive.ietf.org/arch/msg/{list}/{ietf_hash}/"
        mirror, found = f"rsync://rsync.ietf.org/mailman-archive/{name}/", "an IETF list, fetched by rsync"
        return SourceProposal(SourceType.RSYNC, mirror, name, found, Preset.IETF, template)
    return _propose(await _fetch_beginning(url, clients, used), url)


async def _fetch_beginning(url: URL, clients: Clients, policy: AddressPolicy) -> bytes:
    from shared.ingestion.fetch_http import HttpTransfer  # noqa: PLC0415 - aiohttp is slow to import

    now = clients.runtime.now()
    probe = Source(id="look", name="look", source_type=SourceType.HTTP, url=str(url), created_at=now)
    with tempfile.TemporaryDirectory(prefix="look-") as folder:
        context = FetchContext(clients, Path(folder), policy)
        with context.spool() as spool:
            return await HttpTransfer(probe, context, spool).beginning(LOOKED_AT, LOOK_SECONDS)


def _propose(beginning: bytes, url: URL) -> SourceProposal:
    if looks_like_archive(beginning):
        return SourceProposal(SourceType.HTTP, str(url), _name_of(url.path), "one archive", files=(url.name,))
    folder = url if url.path.endswith("/") else url.with_path(f"{url.path}/")
    for place in (url, folder):
        if is_public_inbox(beginning, place):
            preset = Preset.GIT if folder.host == "lore.kernel.org" else Preset.FREE
            found = "a public-inbox list; the first fetch gets its last 90 days"
            template = f"{folder}{{message_id}}/"
            return SourceProposal(
                SourceType.PUBLIC_INBOX, str(folder), _name_of(folder.path), found, preset, template
            )
    if names := [link.name for link in archive_links(beginning, url)]:
        examples = names if len(names) <= SHOWN_FILES else [*names[: SHOWN_FILES - 1], names[-1]]
        template = f"{url}{{year}}-{{month_name}}/thread.html" if "/pipermail/" in url.path else ""
        found = f"a page that lists {len(names)} archives"
        return SourceProposal(
            SourceType.INDEX,
            str(url),
            _name_of(url.path),
            found,
            archive_template=template,
            files=tuple(examples),
        )
    raise SourceError(
        f"{redacted_url(url)}: there is no archive, no public-inbox, and no page that lists archives"
        " (.mbox, .mail, or .txt named by a month)"
    )


def looks_like_archive(beginning: bytes) -> bool:
    """Return whether the first bytes look like an archive. The fetch checks the whole file."""
    return (
        compression_of(beginning) is not None
        or beginning.startswith((*ZIP_MAGIC, b"From "))
        or is_tar_header(beginning[:BLOCK])
        or _HEADER.match(beginning) is not None
    )


def _name_of(address: str) -> str:
    """Return the last part of the address that is a valid source name, or an empty string."""
    parts = [part for part in re.split(r"[/:]+", address.rstrip("/")) if part]
    for part in reversed(parts):
        bare = re.sub(
            r"(\.(mbox|mail|txt|gz|bz2|xz|zip|tar))+$", "", part.partition("@")[0], flags=re.IGNORECASE
        )
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", bare).strip("-._").lower()
        if re.fullmatch(NAME_PATTERN, name):
            return name
    return ""
