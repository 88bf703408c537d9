"""Reports as an Atom feed (RFC 4287), and deadlines as a calendar (RFC 5545). All text is hostile."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from urllib.parse import quote
from xml.etree import ElementTree as ET

from shared.core.ids import feed_id
from shared.models.reports import Report, Summary

NAMESPACE = "http://www.w3.org/2005/Atom"
XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
ATOM = "application/atom+xml"
# Characters that XML 1.0 forbids, and bidi controls.
_UNFIT = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Feed:
    """The feed of a source, draft or thread (`kind` and `name`). Paths are relative to the site."""

    kind: str
    name: str
    title: str
    self_path: str
    page_path: str


@dataclass(frozen=True, slots=True)
class FeedEntry:
    scope: str
    title: str
    published: datetime
    path: str
    html: str = ""
    """Already sanitized: the summary's content_html."""
    categories: tuple[str, ...] = ()
    outcome: str = ""
    """One sentence, with the words that it is based on."""


def entry_of(report: Report, summary: Summary | None, path: str) -> FeedEntry:
    outcome = report.outcome
    kind = outcome.kind.value if outcome and outcome.kind else None
    categories = [report.summary_type.value, report.source, kind, *report.draft_mentions]
    by = outcome.corrected if outcome else None
    corrected = f"Corrected by {by.by} on {by.at:%Y-%m-%d}." if by else ""
    parts = (outcome.headline if outcome else _outcomes(report), _call(report), corrected)
    return FeedEntry(
        report.scope,
        report.title,
        report.published_at,
        path,
        summary.content_html if summary else "",
        tuple(dict.fromkeys(category for category in categories if category)),
        " ".join(filter(None, parts)),
    )


def _outcomes(report: Report) -> str:
    """Return the decisions of a digest, the newest thread first."""
    decided = [thread for thread in report.threads if thread.outcome and thread.is_decided]
    lines = [f"{thread.title}: {thread.outcome.sentence}" for thread in decided if thread.outcome]
    remaining = len(report.threads) - len(decided)
    if remaining:
        lines.append(f"No decision found in {remaining} thread{'' if remaining == 1 else 's'}.")
    return "\n".join(lines)


def _call(report: Report) -> str:
    call = report.open_call
    if call is None:
        return ""
    ends = f" until {call.ends.isoformat()}" if call.ends else ""
    return f"Open call{ends}: {call.question}" if call.question else f"Open call{ends}."


def atom_feed(feed: Feed, entries: Sequence[FeedEntry], base_url: str, now: datetime) -> bytes:
    """Return the Atom document. `now` is the time of a feed without entries."""
    ET.register_namespace("", NAMESPACE)
    root = ET.Element(f"{{{NAMESPACE}}}feed", {XML_BASE: f"{base_url.rstrip('/')}/"})
    _text(root, "id", feed_id("feed", feed.kind, feed.name))
    _text(root, "title", feed.title)
    _text(root, "updated", _time(max((entry.published for entry in entries), default=now)))
    _text(ET.SubElement(root, f"{{{NAMESPACE}}}author"), "name", "Rough Consensus")
    _link(root, "self", feed.self_path, base_url, ATOM)
    _link(root, "alternate", feed.page_path, base_url, "text/html")
    latest: dict[str, FeedEntry] = {}
    for entry in sorted(entries, key=lambda entry: entry.published, reverse=True):
        latest.setdefault(entry.scope, entry)  # One entry for each scope.
    for entry in latest.values():
        _entry(root, entry, base_url)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _entry(root: ET.Element, entry: FeedEntry, base_url: str) -> None:
    element = ET.SubElement(root, f"{{{NAMESPACE}}}entry")
    _text(element, "id", feed_id("report", entry.scope))
    _text(element, "title", entry.title)
    _text(element, "updated", _time(entry.published))
    _link(element, "alternate", entry.path, base_url, "text/html")
    for category in entry.categories:
        ET.SubElement(element, f"{{{NAMESPACE}}}category", {"term": _fit(category)})
    if entry.outcome:
        _text(element, "summary", entry.outcome)
    if entry.html:
        content = ET.SubElement(element, f"{{{NAMESPACE}}}content", {"type": "html"})
        content.set(XML_BASE, _absolute(entry.path, base_url))  # Citations link within the page.
        content.text = _fit(entry.html)


def _text(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, f"{{{NAMESPACE}}}{name}").text = _fit(text) or "(no title)"


def _link(parent: ET.Element, rel: str, path: str, base_url: str, media_type: str) -> None:
    address = {"rel": rel, "type": media_type, "href": _absolute(path, base_url)}
    ET.SubElement(parent, f"{{{NAMESPACE}}}link", address)


def _absolute(path: str, base_url: str) -> str:
    return f"{base_url.rstrip('/')}{quote(path, safe='/?&=#%:;+,~-._')}"


def _time(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _fit(text: str) -> str:
    return _UNFIT.sub("", text)


CALENDAR = "text/calendar"
OCTETS = 73  # Octets in a line, without its line end and the space of a continuation.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class CallEnd:
    """A call and its last day. Its calendar event keeps its id through `scope`."""

    scope: str
    title: str
    question: str
    ends: date
    published: datetime
    address: str


def calendar_of(name: str, calls: Sequence[CallEnd]) -> bytes:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Rough Consensus//calls//EN"]
    lines += [f"NAME:{_property_text(name)}", f"X-WR-CALNAME:{_property_text(name)}"]
    for call in sorted(calls, key=lambda open_call: (open_call.ends, open_call.scope)):
        lines += _event(call)
    lines.append("END:VCALENDAR")
    return "".join(f"{folded}\r\n" for line in lines for folded in _folded(line)).encode()


def _event(call: CallEnd) -> list[str]:
    return [
        "BEGIN:VEVENT",
        f"UID:{feed_id('call', call.scope)}",
        f"DTSTAMP:{call.published.astimezone(UTC):%Y%m%dT%H%M%SZ}",
        f"DTSTART;VALUE=DATE:{call.ends:%Y%m%d}",
        f"DTEND;VALUE=DATE:{call.ends + timedelta(days=1):%Y%m%d}",
        f"SUMMARY:{_property_text(f'Deadline: {call.title}')}",
        *([f"DESCRIPTION:{_property_text(call.question)}"] if call.question else []),
        f"URL:{call.address}",
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _property_text(text: str) -> str:
    flat = " ".join(_CONTROL.sub(" ", text).split())
    return re.sub(r"([\\;,])", r"\\\1", flat)


def _folded(line: str) -> Iterator[str]:
    """Yield lines of at most 75 octets, without splitting a character."""
    part, size = "", 0
    for character in line:
        width = len(character.encode())
        if size + width > OCTETS:
            yield part
            part, size = " ", 1
        part += character
        size += width
    yield part
