"""IMAP: the messages that are new since the last uid, as one mbox."""

import asyncio
import imaplib
import logging
import re
import ssl
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from shared.clients.outbound import AddressPolicy, FetchError, SourceError
from shared.documents.sources import Source
from shared.ingestion.fetcher import IDLE_SECONDS, TIMEOUT_SECONDS, FetchContext, Fetched
from shared.ingestion.imap_client import ImapServer, Mailbox, MailboxMessage
from shared.ingestion.spool import Spool

log = logging.getLogger(__name__)
LARGEST_MESSAGE = 64 * 1024 * 1024
LINES_FOR_EACH_BYTE = 2  # what the protocol says around the messages is bounded by this too
MALFORMED = "an IMAP source is imaps://host/mailbox, or imap:// for STARTTLS, in plain letters"
_FROM = re.compile(rb"(?m)^(>*From )")
_NAME = re.compile(r"[ -~]{1,200}")


@dataclass(frozen=True)
class ImapAddress:
    host: str
    port: int
    tls: str
    mailbox: str


def imap_address(source_url: str, settings: dict[str, Any], policy: AddressPolicy) -> ImapAddress:
    """`imaps://host[:port]/mailbox`, or `imap://` for STARTTLS; without TLS only where that is allowed."""
    url, port = _parsed(source_url)
    host, mailbox = url.hostname or "", unquote(url.path.strip("/")) or "INBOX"
    if not host or url.scheme not in {"imap", "imaps"} or not _NAME.fullmatch(mailbox):
        raise SourceError(MALFORMED)
    if url.username is not None or url.password is not None or url.query or url.fragment:
        raise SourceError("the address must not hold a user, a password, or a query; name settings instead")
    policy.check_literal(host)
    tls = "implicit" if url.scheme == "imaps" else "starttls"
    if settings.get("plaintext"):
        if url.scheme != "imap" or not policy.allows(host):
            raise SourceError("settings.plaintext: only for imap:// and a host in SOURCE_ALLOWED_HOSTS")
        tls = "none"
    return ImapAddress(host, port or (993 if tls == "implicit" else 143), tls, mailbox)


def _parsed(source_url: str) -> tuple[SplitResult, int | None]:
    try:
        url = urlsplit(source_url)
        port = url.port
    except ValueError:
        raise SourceError(MALFORMED) from None
    return url, port


async def fetch_imap(
    source: Source, around: FetchContext, *, context: ssl.SSLContext | None = None
) -> AsyncGenerator[Fetched, None]:
    """What is new, up to the size of one archive; the rest comes with the next fetch."""
    address = imap_address(source.url, source.settings, around.policy)
    credentials = around.secret(source, "username_setting"), around.secret(source, "password_setting")
    tls = context or ssl.create_default_context()
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with around.spool() as spool:

        async def attempt() -> dict[str, Any] | None:
            (checked, *_) = await around.policy.resolved(address.host, address.port)
            spool.restart()
            most = LINES_FOR_EACH_BYTE * around.settings.ARCHIVE_MAX_BYTES + LARGEST_MESSAGE
            server = ImapServer(
                address.host, checked, address.port, address.tls, IDLE_SECONDS, deadline, most, tls
            )
            return await asyncio.to_thread(
                _collect,
                server,
                credentials,
                address.mailbox,
                source,
                spool,
                around.settings.ARCHIVE_MAX_BYTES,
            )

        cursor = await around.retried(attempt, source)
        if cursor is not None and spool.size:
            name = f"{address.mailbox}-{cursor['uidvalidity']}-{cursor['last_uid']}.mbox"
            yield Fetched(spool.path, spool.sha256, spool.size, name, source.url, cursor)


def _collect(
    server: ImapServer,
    credentials: tuple[str, str],
    mailbox_name: str,
    source: Source,
    spool: Spool,
    most: int,
) -> dict[str, Any] | None:
    """Write what is new into the spool; the cursor after it. In a thread: imaplib blocks."""
    try:
        mailbox = Mailbox(server, *credentials, mailbox_name)
        try:
            return _new_messages(mailbox, source, spool, most)
        finally:
            mailbox.close()
    except (imaplib.IMAP4.error, OSError) as error:
        # `from None`: the context of an imaplib error can hold the command, and with it the password.
        raise FetchError(f"{server.host}: {type(error).__name__}: {error}") from None


def _new_messages(mailbox: Mailbox, source: Source, spool: Spool, most: int) -> dict[str, Any] | None:
    last = _last_uid(source, mailbox.uid_validity)
    reached = last
    for message in mailbox.messages(mailbox.uids_after(last), min(LARGEST_MESSAGE, most // 2)):
        if isinstance(message, int):
            log.warning("%s: message %d is too large and left out", source.name, message)
            reached = message
            continue
        entry = _mbox_entry(message)
        if spool.size + len(entry) > most:
            break
        spool.write(entry)
        reached = message.uid
    spool.flush()
    if reached == last:
        return None
    return {"url": source.url, "uidvalidity": mailbox.uid_validity, "last_uid": reached}


def _last_uid(source: Source, uid_validity: int) -> int:
    """Where the last fetch ended, unless the server has numbered its messages anew since."""
    cursor = source.cursor
    same = cursor.get("url") == source.url and cursor.get("uidvalidity") == uid_validity
    return int(cursor.get("last_uid", 0)) if same else 0


def _mbox_entry(message: MailboxMessage) -> bytes:
    """In the mboxrd form, with line ends as mailboxes have them."""
    text = message.content.replace(b"\r\n", b"\n")
    stamp = _stamp(message.internal_date)
    return f"From MAILER-DAEMON {stamp}\n".encode() + _FROM.sub(rb">\1", text).rstrip(b"\n") + b"\n\n"


def _stamp(internal_date: str) -> str:
    """The first second there is, where the server names a month or a year that there is not."""
    try:
        date = imaplib.Internaldate2tuple(b'INTERNALDATE "' + internal_date.encode() + b'"')
        return time.asctime(time.gmtime(time.mktime(date) if date else 0))
    except (LookupError, ValueError, OverflowError):
        return time.asctime(time.gmtime(0))
