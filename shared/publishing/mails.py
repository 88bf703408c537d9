"""The mails of a subscription, as plain text and as HTML with the same words.

A digest has the title, the displayed outcome and the address of each report, and no other text of mails.
"""

import hashlib
import hmac
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from enum import StrEnum
from typing import Any
from urllib.parse import quote, urlencode

from shared.core.ids import digest_mail_id
from shared.core.times import stored_time
from shared.mail.masking import mask_addresses
from shared.models.reports import Subscription, TopicKind
from shared.settings.app import Settings


class LinkPurpose(StrEnum):
    CONFIRM = "confirm"
    UNSUBSCRIBE = "unsubscribe"


def link_to(settings: Settings, subscription: Subscription, purpose: LinkPurpose) -> str:
    named = {
        "of": subscription.address_key,
        "id": subscription.id,
        "token": token_of(settings, subscription.address_key, subscription.id, purpose),
    }
    return f"{settings.PUBLIC_URL.rstrip('/')}/subscriptions/{purpose}?{urlencode(named)}"


def is_signed(settings: Settings, named: tuple[str, str, str], purpose: LinkPurpose) -> bool:
    """Return whether the token is valid for this partition, id and purpose."""
    address_key, id_, token = named
    wanted = token_of(settings, address_key, id_, purpose)
    return hmac.compare_digest(token.encode("utf-8", "replace"), wanted.encode())


def token_of(settings: Settings, address_key: str, id_: str, purpose: LinkPurpose) -> str:
    secret = settings.EMAIL_SECRET
    if secret is None:
        raise ValueError("EMAIL_SECRET is not set: nothing is signed without it")
    message = json.dumps(["subscription", purpose, address_key, id_]).encode()
    return hmac.new(secret.get_secret_value().encode(), message, hashlib.sha256).hexdigest()


NAME = "Rough Consensus"
WORDS = {
    TopicKind.SOURCES: "the list",
    TopicKind.DRAFTS: "the draft",
    TopicKind.PEOPLE: "the person",
    TopicKind.THREADS: "the thread",
}
LONGEST_TITLE = 160
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class DigestEntry:
    title: str
    outcome: str  # Empty if there is no stated outcome.
    address: str
    day: str
    decided: tuple["DigestEntry", ...] = ()  # Threads of a week or month, with their outcomes.


def entries_of(
    rows: Sequence[Mapping[str, Any]], public_url: str, since: datetime | None = None
) -> list[DigestEntry]:
    """Return the entries, decisions first and each thread once. `since` is the time of the last digest."""
    listed = {row.get("thread_id") for row in rows}
    entries: list[DigestEntry] = []
    for row in rows:
        threads = [thread for thread in row.get("threads") or [] if thread["thread_id"] not in listed]
        listed.update(thread["thread_id"] for thread in threads)
        known = {**row, "threads": threads}
        entries.append(_entry(known, public_url.rstrip("/"), stored_time(since) if since else ""))
    return sorted(entries, key=lambda entry: not (entry.outcome or entry.decided))


def _entry(row: Mapping[str, Any], base: str, since: str) -> DigestEntry:
    thread_id = row.get("thread_id")
    threads = sorted(row.get("threads") or [], key=lambda thread: str(thread.get("read_at")) <= since)
    decided = [_entry({**thread, "published_at": thread.get("read_at")}, base, since) for thread in threads]
    return DigestEntry(
        one_line(row.get("title") or "No subject"),
        one_line(_stated_outcome(row)),
        f"{base}/threads/{quote(thread_id)}" if thread_id else f"{base}/reports/{quote(row['report_id'])}",
        str(row.get("last_message_date") or row["published_at"])[:10],
        tuple(entry for entry in decided if entry.outcome),
    )


def _stated_outcome(row: Mapping[str, Any]) -> str:
    outcome = row.get("outcome") or {}
    return str(outcome.get("sentence", "")) if outcome.get("tier") == "said" else ""


def one_line(text: str) -> str:
    """Return the text on one line without control and bidi characters."""
    line = " ".join(_UNPRINTABLE.sub(" ", text).split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def topic_words(subscription: Subscription) -> str:
    topic = subscription.topic
    return f"{WORDS[topic.kind]} {mask_addresses(one_line(topic.label or topic.name))}"


def confirmation(settings: Settings, subscription: Subscription, now: datetime) -> EmailMessage:
    """Create the mail that asks for a confirmation. At a site with accounts, it does not show the topic."""
    topic = topic_words(subscription) if settings.AUTH_MODE == "public" else settings.PUBLIC_URL
    lines = [
        f"You, or someone using your address, subscribed to a {subscription.cadence} digest of {topic}.",
        "To confirm, open this link within two days:",
        link_to(settings, subscription, LinkPurpose.CONFIRM),
        "If this was not you, ignore this mail. Your address will be deleted after two days.",
    ]
    mail = _mail(settings, subscription, f"Confirm your digest of {topic}", now)
    mail["Message-ID"] = digest_mail_id(subscription.id, f"confirm {now.isoformat()}", _domain(settings))
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n\n".join(lines) + "\n")
    mail.add_alternative(_page("".join(f"<p>{_linked(line)}</p>" for line in lines)), subtype="html")
    return mail


def digest(
    settings: Settings, subscription: Subscription, entries: Sequence[DigestEntry], *, more: bool
) -> EmailMessage:
    """Create the digest. Every attempt has the same content and Message-ID."""
    if subscription.until is None:
        raise ValueError("a digest has an end: it is claimed first")
    topic = topic_words(subscription)
    ending = link_to(settings, subscription, LinkPurpose.UNSUBSCRIBE)
    count = "1 report" if len(entries) == 1 else f"{len(entries)}{' or more' if more else ''} reports"
    mail = _mail(settings, subscription, f"{count} on {topic}", subscription.until)
    mail["Message-ID"] = digest_mail_id(subscription.id, subscription.until.isoformat(), _domain(settings))
    mail["List-Unsubscribe"] = f"<{ending}>"
    mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    mail["List-Id"] = f"{NAME} digests <digests.{_domain(settings)}>"
    mail["Precedence"] = "bulk"
    mail.set_content(_text(topic, entries, more=more, ending=ending))
    mail.add_alternative(_html(topic, entries, more=more, ending=ending), subtype="html")
    return mail


def _mail(settings: Settings, subscription: Subscription, subject: str, at: datetime) -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = Address(NAME, addr_spec=settings.EMAIL_FROM)
    mail["To"] = Address(addr_spec=subscription.address)
    mail["Subject"] = one_line(subject)
    mail["Date"] = format_datetime(at)
    return mail


def _domain(settings: Settings) -> str:
    return settings.EMAIL_FROM.rpartition("@")[2]


def _text(topic: str, entries: Sequence[DigestEntry], *, more: bool, ending: str) -> str:
    reports = ["\n".join(_lines(entry)) for entry in entries]
    rest = ["More reports are on the page."] if more else []
    return "\n\n".join([f"New on {topic}:", *reports, *rest, f"-- \nUnsubscribe: {ending}"]) + "\n"


def _lines(entry: DigestEntry) -> list[str]:
    lines = [line for line in (entry.title, entry.outcome, f"{entry.day}  {entry.address}") if line]
    return lines + [f"  {line}" for thread in entry.decided for line in _lines(thread)]


def _html(topic: str, entries: Sequence[DigestEntry], *, more: bool, ending: str) -> str:
    items = "".join(map(_item, entries))
    rest = "<p>More reports are on the page.</p>" if more else ""
    end = f'<p><small><a href="{html.escape(ending)}">Unsubscribe</a></small></p>'
    return _page(f"<h1>New on {html.escape(topic)}</h1><ul>{items}</ul>{rest}{end}")


def _linked(line: str) -> str:
    escaped = html.escape(line)
    return f'<a href="{escaped}">{escaped}</a>' if line.startswith(("https://", "http://")) else escaped


def _item(entry: DigestEntry) -> str:
    return (
        f'<li><p><a href="{html.escape(entry.address)}">{html.escape(entry.title)}</a></p>'
        + (f"<p>{html.escape(entry.outcome)}</p>" if entry.outcome else "")
        + f"<p><small>{html.escape(entry.day)}</small></p>"
        + (f"<ul>{''.join(map(_item, entry.decided))}</ul>" if entry.decided else "")
        + "</li>"
    )


def _page(body: str) -> str:
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{NAME}</title>'
    return f"{head}<body>{body}</body></html>"
