"""Pages of real mail call only settled threads agreed, and every citation leads to its marked sentence.

    make check-pages

Reads every archive of the data folder without services, builds the pages of every thread and its report, and
follows every citation on them.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from evaluation.consensus_corpus import profile_in
from shared.chunking.tokens import ModelTokenizer
from shared.embedding.model_tokens import model_tokenizer
from shared.mail.archive_addresses import bare_message_id
from shared.models.values import OutcomeKind, SourceProfile, Tier
from shared.views.parameters import page_of_message
from tests.support.mail_data import WHY_SKIPPED, data_folder
from tests.web.markup import Element, Page, parsed
from tests.web.read_archive import NOW, ReadThread, threads_in
from web.pages.home import _group
from web.pages.mail import place_of
from web.pages.report import _view
from web.pages.summary_view import summary_view
from web.pages.thread_view import ThreadPageData, thread_values
from web.position_changes import changes_in
from web.rendering import render

AGREED = {OutcomeKind.ACCEPTED, OutcomeKind.REVISED}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
FOLDER = data_folder()


def archives() -> list[Path]:
    if FOLDER is None:
        return []
    labelled = FOLDER.parent / "consensus"
    return [path for folder in (FOLDER, labelled) for path in sorted(folder.glob("*.mbox*"))]


def profile_of(path: Path) -> SourceProfile:
    """Return the profile of the labeled list: `git-2024-01.mbox.gz` is the list `git`."""
    roles = path.parent.parent / "consensus" / "roles.json"
    known = json.loads(roles.read_text(encoding="utf-8")) if roles.exists() else {}
    return profile_in(known, path.name.partition(".")[0].partition("-20")[0])


class ThreadPages:
    """All pages of a thread, by the message that an address names."""

    def __init__(self, read: ReadThread) -> None:
        self._data = ThreadPageData(read.thread, read.messages, read.summary, None, read.chunks, NOW)
        first = thread_values(self._data)
        self._numbers = first["pages"].page_numbers
        self._pages = {1: self._made(1)}
        self._mails = {bare_message_id(message.message_id): message for message in read.messages}

    def _made(self, number: int) -> Page:
        values = thread_values(self._data, page=str(number))
        return parsed(render("pages/thread.html", path="/threads/x", query="", **values))

    @property
    def first(self) -> Page:
        return self._pages[1]

    def target(self, address: str) -> Element | None:
        """Return the target of an address: a place on a page of the thread, or marked words in a message."""
        parts = urlsplit(address)
        if parts.path.startswith("/m/"):
            message = self._mails[unquote(parts.path.removeprefix("/m/"))]
            place = place_of(message, parse_qs(parts.query)["quote"][0])
            return Element("mark", {"id": "quote"}, message.body_raw[slice(*place)]) if place else None
        asked = parse_qs(parts.query).get("at")
        number = self._numbers.get(asked[0]) if asked else 1
        if number is None:
            return None
        if number not in self._pages:
            self._pages[number] = self._made(number)
        page = self._pages[number]
        return next(
            (element for element in page.elements if element.attributes.get("id") == parts.fragment), None
        )


def words(text: str) -> str:
    return " ".join(text.replace("\u200b", "").split())


def quotes_on(page: Page) -> Iterator[tuple[str, str]]:
    """Return address and words of every citation: a quote's own link, or a claim's number."""
    after_quote = False
    for element in page.elements:
        if element.tag == "a" and after_quote and element.attributes.get("href"):
            yield element.attributes["href"], words(element.text)
        after_quote = element.tag == "q"
    for link in page.all("a", class_="cite"):
        yield link.attributes["href"], ""


def faults_of(read: ReadThread) -> Iterator[str]:
    pages, report = ThreadPages(read), _report(read)
    yield from _called_agreed(read, {"thread": pages.first, "report": report, "print": _print(read)})
    for name, page in (("thread", pages.first), ("report", report)):
        for address, quote in quotes_on(page):
            target = pages.target(address)
            if target is None or not target.attributes["id"].startswith(("c", "q")):
                yield f"{name}: {address} leads to no sentence: {quote[:80]!r}"
            elif quote and quote not in words(target.text) and words(target.text) not in quote:
                yield f"{name}: {address} marks other words: {quote[:80]!r}"
    for message_id, quote in _in_mails(read):
        message = next(
            found_message for found_message in read.messages if found_message.message_id == message_id
        )
        if place_of(message, quote) is None:
            yield f"mail: not found in its mail: {quote[:80]!r}"


def _called_agreed(read: ReadThread, pages: dict[str, Page]) -> Iterator[str]:
    reading = read.summary.reading
    assert reading is not None
    if reading.has_consensus and reading.outcome.tier is Tier.SAID and reading.outcome.kind in AGREED:
        return
    for name, page in pages.items():
        heads = [element.text for level in ("h1", "h2", "h3") for element in page.all(level)]
        if any("What was agreed" in head for head in heads):
            yield f"{name}: called agreed"
    if "What was agreed, and by whom" in read.summary.content_markdown:
        yield "markdown: called agreed"
    if _group(read.report) == "agreed":
        yield "home: called agreed"


def _in_mails(read: ReadThread) -> Iterator[tuple[str, str]]:
    """Links from people's pages, Markdown and paper to messages."""
    assert read.summary.reading is not None
    for citation in read.summary.citations:
        yield citation.message_id, citation.quote
    for position in read.summary.reading.positions:
        yield position.citation.message_id, position.citation.quote
    for objection in read.summary.reading.objections:
        yield objection.citation.message_id, objection.citation.quote


def _report(read: ReadThread) -> Page:
    addresses = [
        page_of_message(read.thread.id, citation.message_key or "", f"c{number}", read.report.id)
        for number, citation in enumerate(read.summary.citations, 1)
    ]
    shown = _view(read.report, read.summary, list(addresses), NOW)
    values = {"report": read.report, "summary": shown, "threads": [], "outdated": False}
    return parsed(render("pages/report.html", path="/reports/x", query="", **values))


def _print(read: ReadThread) -> Page:
    places: list[str | None] = [None for _ in read.summary.citations]
    assert read.summary.reading is not None
    return parsed(
        render(
            "pages/print.html", path="/", query="", report=read.report,
            headline=read.summary.reading.headline, summary=summary_view(read.summary, places),
            permalink="/reports/x", origin="http://localhost", changes=changes_in(read.summary),
            outdated=False,
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> ModelTokenizer:
    return model_tokenizer()


@pytest.mark.skipif(FOLDER is None, reason=WHY_SKIPPED)
@pytest.mark.parametrize("path", archives(), ids=lambda path: path.name)
def test_nothing_is_called_agreed_that_is_not_and_every_citation_leads_to_its_sentence(
    path: Path, tokenizer: ModelTokenizer
) -> None:
    counted: Counter[str] = Counter()
    faults = []
    for read in threads_in(path, profile_of(path), tokenizer):
        counted["threads"] += 1
        counted["citations"] += len(read.summary.citations)
        faults += [f"{read.thread.subject[:60]!r} {fault}" for fault in faults_of(read)]
    print(f"{path.name}: {dict(counted)}, {len(faults)} faults")
    assert counted["threads"] > 0
    assert faults == []
