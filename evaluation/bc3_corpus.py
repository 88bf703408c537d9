"""BC3: threads of W3C lists. Three people summarized each thread and picked its important sentences."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

_QUOTED = re.compile(r"\s*[>|]")


@dataclass(frozen=True)
class Bc3Sentence:
    id: str
    text: str
    message: int

    @property
    def is_quoted(self) -> bool:
        return bool(_QUOTED.match(self.text))

    @property
    def words(self) -> int:
        return len(self.text.split())


@dataclass
class Bc3Thread:
    number: str
    subject: str
    sentences: list[Bc3Sentence]
    senders: list[str] = field(default_factory=list)
    """The sender of each message, as its From field names them."""
    picks: list[frozenset[str]] = field(default_factory=list)
    """The sentences that each annotator picked."""
    summaries: list[tuple[str, frozenset[int]]] = field(default_factory=list)
    """Sentences of the annotators' summaries, with the numbers of the messages that they link to."""


def read_bc3(corpora: Iterable[Path], annotations: Iterable[Path]) -> list[Bc3Thread]:
    threads: dict[str, Bc3Thread] = {}
    for path in corpora:
        for element in _root(path).findall("thread"):
            thread = _thread(element)
            threads[thread.number] = thread
    for path in annotations:
        for element in _root(path).findall("thread"):
            annotated = threads.get(element.findtext("listno") or "")
            if annotated is not None:
                _annotate(annotated, element)
    return [thread for thread in threads.values() if thread.picks]


def _root(path: Path) -> ET.Element:
    return ET.parse(path).getroot()  # noqa: S314 -- a corpus on the developer's own disk, not mail


def _thread(element: ET.Element) -> Bc3Thread:
    documents = element.findall("DOC")
    sentences = [
        Bc3Sentence(sentence.get("id") or "", html.unescape(sentence.text or ""), number)
        for number, document in enumerate(documents)
        for sentence in document.findall("Text/Sent")
    ]
    senders = [html.unescape(document.findtext("From") or "") for document in documents]
    return Bc3Thread(element.findtext("listno") or "", element.findtext("name") or "", sentences, senders)


def _annotate(thread: Bc3Thread, element: ET.Element) -> None:
    message_of = {sentence.id: sentence.message for sentence in thread.sentences}
    for annotation in element.findall("annotation"):
        picks = frozenset(sentence.get("id") or "" for sentence in annotation.findall("sentences/sent"))
        thread.picks.append(picks & message_of.keys())
        for sentence in annotation.findall("summary/sent"):
            links = {link.strip() for link in (sentence.get("link") or "").split(",")}
            messages = frozenset(message_of[link] for link in links & message_of.keys())
            if messages and (sentence.text or "").strip():
                thread.summaries.append(((sentence.text or "").strip(), messages))
