"""Mails as an mbox (mboxrd: lines that begin with `From ` are quoted by `>`, reversibly)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.header import Header
from email.utils import format_datetime, formataddr

_FROM = re.compile(r"^(>*From )", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_LINE = 990


@dataclass(frozen=True, slots=True)
class WrittenMail:
    """What is written of a mail. People are a name and an address."""

    message_id: str
    sender: tuple[str, str]
    recipients: tuple[tuple[str, str], ...]
    copied: tuple[tuple[str, str], ...]
    date: datetime | None
    subject: str
    in_reply_to: str
    references: tuple[str, ...]
    text: str


def mbox_of(mails: Iterable[WrittenMail]) -> bytes:
    return b"".join(_mail(mail) for mail in mails)


def _mail(mail: WrittenMail) -> bytes:
    at = mail.date or _EPOCH
    headers = {
        "From": _people([mail.sender]),
        "To": _people(mail.recipients),
        "Cc": _people(mail.copied),
        "Date": format_datetime(mail.date) if mail.date else "",
        "Subject": _encoded(mail.subject),
        "Message-ID": _flat(mail.message_id),
        "In-Reply-To": _flat(mail.in_reply_to),
        "References": "\n ".join(_flat(reference) for reference in mail.references),
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "8bit",
    }
    lines = [f"From MAILER-DAEMON {at:%a %b %e %H:%M:%S %Y}"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value]
    body = _FROM.sub(r">\1", mail.text.replace("\r\n", "\n").rstrip("\n"))
    return ("\n".join(lines) + f"\n\n{body}\n\n").encode("utf-8", "replace")


def _flat(text: str) -> str:
    """One line: a header of a mail cannot add another one."""
    return " ".join(_CONTROL.sub(" ", text).split())


def _encoded(text: str) -> str:
    flat = _flat(text)
    return flat if flat.isascii() and len(flat) < LONGEST_LINE else Header(flat, "utf-8").encode()


def _people(people: Iterable[tuple[str, str]]) -> str:
    clean = [(_flat(name), _flat(address)) for name, address in people]
    written = [
        formataddr((name, address)) if address.isascii() else _encoded(name) for name, address in clean
    ]
    return ",\n ".join(filter(None, written))
