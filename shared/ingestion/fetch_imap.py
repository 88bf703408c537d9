"""Fetch over IMAP: the messages after the last UID, as one mbox."""

import asyncio
import imaplib
import logging
import re
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from shared.azure.outbound import AddressPolicy, FetchError, SourceError
from shared.ingestion.fetcher import IDLE_SECONDS, TIMEOUT_SECONDS, FetchContext, Fetched, Spool
from shared.models.sources import Source

SIZES_AT_ONCE = 500
BYTES_AT_ONCE = 8 * 1024 * 1024
UIDS_AT_ONCE = 100_000
_UID = re.compile(rb"\bUID (\d{1,10})\b")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,12})\b")


@dataclass(frozen=True)
class ImapServer:
    """An IMAP server, with the limits of bytes and time for a fetch."""

    at: "ImapAddress"
    checked_address: str
    deadline: float  # On the monotonic clock.
    most_bytes: int
    context: ssl.SSLContext


class _Connection(imaplib.IMAP4):
    def __init__(self, server: ImapServer) -> None:
        self._server = server
        self._left = server.most_bytes
        super().__init__(server.at.host, server.at.port, IDLE_SECONDS)

    def open(self, host: str = "", port: int = 143, timeout: float | None = None) -> None:
        """Connect to the checked address. The certificate must match the host name."""
        self.host, self.port = host, port
        plain = socket.create_connection((self._server.checked_address, port), timeout)
        try:
            implicit = self._server.at.tls == "implicit"
            self.sock = self._server.context.wrap_socket(plain, server_hostname=host) if implicit else plain
        except OSError:
            plain.close()
            raise
        self.file = self.sock.makefile("rb")

    def read(self, size: int) -> bytes:
        self._spend(size)
        return super().read(size)

    def readline(self) -> bytes:
        line: bytes = super().readline()
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise SourceError(f"{self.host}: the server sends more than {self._server.most_bytes} bytes")
        if time.monotonic() > self._server.deadline:
            raise FetchError(f"{self.host}: the time limit of a fetch is reached")


class Mailbox:
    """One mailbox, opened read-only."""

    def __init__(self, server: ImapServer, user: str, password: str) -> None:
        self._connection = _Connection(server)
        try:
            self._log_in(server, user, password)
            self._examine(server.at.mailbox)
        except BaseException:
            self.close()
            raise

    def _examine(self, name: str) -> None:
        quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        answer, _ = self._connection.select(quoted, readonly=True)
        if answer != "OK":
            raise SourceError(f"there is no mailbox {name!r}; check the source's address")
        self.uid_validity, self.next_uid = self._number("UIDVALIDITY"), self._number("UIDNEXT")

    def _log_in(self, server: ImapServer, user: str, password: str) -> None:
        if server.at.tls == "starttls":
            self._connection.starttls(server.context)
        try:
            if (user + password).isascii():
                self._connection.login(user, password)
            else:
                self._connection.authenticate("PLAIN", lambda _: f"\0{user}\0{password}".encode())
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error:
            # The error text of the server may repeat the password.
            where = server.at.host
            raise SourceError(f"{where}: the sign-in was rejected; check the source's settings") from None

    def _number(self, name: str) -> int:
        _, values = self._connection.response(name)
        value = values[0] if values else None
        return int(value) if isinstance(value, bytes) and value.isdigit() else 0

    def uids_after(self, last: int) -> list[int]:
        """Return the UIDs after `last`, ascending. A search for `n:*` can also return an older UID."""
        found: set[int] = set()
        start = last + 1
        if not self.next_uid:
            return sorted(uid for uid in self._search(f"{start}:*") if uid > last)
        while start < self.next_uid:
            found.update(self._search(f"{start}:{start + UIDS_AT_ONCE - 1}"))
            start += UIDS_AT_ONCE
        return sorted(uid for uid in found if uid > last)

    def messages(self, uids: list[int], largest: int) -> Iterator[tuple[int, bytes]]:
        """Yield the UID and mbox entry of each message in order. The entry is empty if it is too large."""
        for start in range(0, len(uids), SIZES_AT_ONCE):
            part = uids[start : start + SIZES_AT_ONCE]
            sizes = self._sizes(part)
            for batch in _batches(part, sizes, largest):
                if isinstance(batch, int):
                    yield batch, b""
                else:
                    yield from self._fetch(batch)

    def close(self) -> None:
        try:
            self._connection.logout()
        except (imaplib.IMAP4.error, OSError, FetchError, SourceError):
            self._connection.shutdown()

    def _search(self, range_: str) -> list[int]:
        data = self._asked("SEARCH", "UID", range_)
        return [int(uid) for line in data if isinstance(line, bytes) for uid in line.split() if uid.isdigit()]

    def _sizes(self, uids: list[int]) -> dict[int, int]:
        sizes: dict[int, int] = {}
        for line in self._asked("FETCH", ",".join(map(str, uids)), "(UID RFC822.SIZE)"):
            text = line[0] if isinstance(line, tuple) else line or b""
            uid, size = _UID.search(text), _SIZE.search(text)
            if uid and size:
                sizes[int(uid[1])] = int(size[1])
        return sizes

    def _fetch(self, uids: list[int]) -> list[tuple[int, bytes]]:
        data = self._asked("FETCH", ",".join(map(str, uids)), "(UID INTERNALDATE BODY.PEEK[])")
        found: dict[int, bytes] = {}
        for position, item in enumerate(data):
            if not isinstance(item, tuple):
                continue
            after = data[position + 1] if position + 1 < len(data) else b""
            about = item[0] + b" " + (after if isinstance(after, bytes) else b"")
            if uid := _UID.search(about):
                found[int(uid[1])] = _mbox_entry(about, item[1])
        return [(uid, found[uid]) for uid in uids if uid in found]

    def _asked(self, command: str, *arguments: str) -> list[Any]:
        answer, data = self._connection.uid(command, *arguments)
        if answer != "OK":
            raise FetchError(f"the IMAP server answered {answer} to {command}")
        return list(data)


def _mbox_entry(about: bytes, content: bytes) -> bytes:
    """Return the message in mboxrd format with Unix line endings."""
    try:
        date = imaplib.Internaldate2tuple(about)
        stamp = time.asctime(time.gmtime(time.mktime(date) if date else 0))
    except (LookupError, ValueError, OverflowError):  # The server sent a date that does not exist.
        stamp = time.asctime(time.gmtime(0))
    text = _FROM.sub(rb">\1", content.replace(b"\r\n", b"\n")).rstrip(b"\n")
    return f"From MAILER-DAEMON {stamp}\n".encode() + text + b"\n\n"


def _batches(uids: list[int], sizes: dict[int, int], largest: int) -> Iterator[list[int] | int]:
    batch: list[int] = []
    weight = 0
    for uid in uids:
        if uid not in sizes:  # Deleted after the search.
            continue
        if batch and (weight + sizes[uid] > BYTES_AT_ONCE or sizes[uid] > largest):
            yield batch
            batch, weight = [], 0
        if sizes[uid] > largest:
            yield uid
        else:
            batch.append(uid)
            weight += sizes[uid]
    if batch:
        yield batch


log = logging.getLogger(__name__)
LARGEST_MESSAGE = 64 * 1024 * 1024
LINES_FOR_EACH_BYTE = 2  # the protocol lines around the messages count, too
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
    """Parse `imaps://host[:port]/mailbox`, or `imap://` for STARTTLS. Plain text needs an allowed host."""
    try:
        url = urlsplit(source_url)
        port = url.port
    except ValueError:
        raise SourceError(MALFORMED) from None
    host, mailbox = url.hostname or "", unquote(url.path.strip("/")) or "INBOX"
    if not host or url.scheme not in {"imap", "imaps"} or not _NAME.fullmatch(mailbox):
        raise SourceError(MALFORMED)
    if url.username is not None or url.password is not None or url.query or url.fragment:
        raise SourceError(
            "the address must not contain a user, a password, or a query; name settings instead"
        )
    policy.check_literal(host)
    tls = "implicit" if url.scheme == "imaps" else "starttls"
    if settings.get("plaintext"):
        if url.scheme != "imap" or not policy.allows(host):
            raise SourceError("settings.plaintext: only for imap:// and a host in SOURCE_ALLOWED_HOSTS")
        tls = "none"
    return ImapAddress(host, port or (993 if tls == "implicit" else 143), tls, mailbox)


async def fetch_imap(
    source: Source, context: FetchContext, *, tls_context: ssl.SSLContext | None = None
) -> AsyncGenerator[Fetched, None]:
    """Fetch new messages, up to the size of one archive. The next fetch gets the rest."""
    address = imap_address(source.url, source.settings, context.policy)
    credentials = context.secret(source, "username_setting"), context.password(source, address.host)
    tls = tls_context or ssl.create_default_context()
    deadline = time.monotonic() + TIMEOUT_SECONDS
    largest = context.clients.settings.ARCHIVE_MAX_BYTES
    most = LINES_FOR_EACH_BYTE * largest + LARGEST_MESSAGE
    with context.spool() as spool:

        def collect(server: ImapServer) -> dict[str, Any] | None:
            """Read the new messages in a thread, because imaplib blocks."""
            try:
                with closing(Mailbox(server, *credentials)) as mailbox:
                    return _new_messages(mailbox, source, spool, largest)
            except (imaplib.IMAP4.error, OSError) as error:
                # The context of an imaplib error can contain the command with the password, so `from None`
                # drops it.
                raise FetchError(f"{address.host}: {type(error).__name__}: {error}") from None

        async def attempt() -> dict[str, Any] | None:
            (checked, *_) = await context.policy.resolved(address.host, address.port)
            spool.restart()
            return await asyncio.to_thread(collect, ImapServer(address, checked, deadline, most, tls))

        cursor = await context.retried(attempt, source)
        if cursor is not None and spool.size:
            name = f"{address.mailbox}-{cursor['uidvalidity']}-{cursor['last_uid']}.mbox"
            yield Fetched(spool.file(name), source.url, cursor)


def _new_messages(mailbox: Mailbox, source: Source, spool: Spool, most: int) -> dict[str, Any] | None:
    known = source.cursor
    # A server that has renumbered its messages has another UIDVALIDITY.
    is_same = known.get("url") == source.url and known.get("uidvalidity") == mailbox.uid_validity
    reached = last = int(known.get("last_uid", 0)) if is_same else 0
    for uid, entry in mailbox.messages(mailbox.uids_after(last), min(LARGEST_MESSAGE, most // 2)):
        if spool.size + len(entry) > most:
            break
        if not entry:
            log.warning("%s: message %d is too large and left out", source.name, uid)
        spool.write(entry)
        reached = uid
    if reached == last:
        return None
    return {"url": source.url, "uidvalidity": mailbox.uid_validity, "last_uid": reached}
