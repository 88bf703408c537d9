"""Finds the own sentences of a mail, or its subject, that contain a model's quote."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from shared.model_reading.answer import ClaimedQuote
from shared.model_reading.own_words import quotable
from shared.models.values import SentenceCitation
from shared.reading.linked_thread import LinkedMail, LinkedThread
from shared.reading.mails import OwnSentence, word_key

_MIN_WORDS = 3
_MAX_QUOTE = 2_400
_MOST_SENTENCES = 3
_MOST_PLACES = 20
_SPACES = re.compile(r"\s+")
# Each replacement is one character for one, so that positions stay. The table has typographic signs, and the
# Windows-1252 signs that a mail without a charset leaves as control characters.
_SAME = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u00b4\u02bc`\x91\x92\x82", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\x93\x94\x84", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\x96\x97", "-")
    | {"\x85": " ", "\xa0": " "}
)
_WORD = re.compile(r"\S+")
_BULLET = re.compile(r"[-*+\u2022o\x95]")
_BOILERPLATE = re.compile(
    r"\b(?:information|contents?) (?:\w+ )*(?:in|of) this (?:e-?mail|message)\b.*\bconfidential|"
    r"\bthis (?:e-?mail|message)(?: and any attachments)?,? .{0,40}\b(?:confidential|privileged|"
    r"intended (?:only )?for)|\bintended (?:only|solely) for the\b|-{8,} next part -{4,}|"
    r"\bHTML attachment was scrubbed\b",
    re.IGNORECASE,
)
"""A notice that a mail server or a lawyer adds says nothing about the sender."""
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|\u2026|\[\.\.\.\])$")


@dataclass(frozen=True, slots=True)
class LocatedQuote:
    """The complete sentences that contain a quote, so that no "not" is cut off."""

    mail: LinkedMail
    sentences: tuple[OwnSentence, ...]
    left_off: str = ""
    """The words of the first sentence before the quote."""
    subject: str = ""
    """The subject, if the quote is in it. The mail's first sentence then links to it."""

    @property
    def text(self) -> str:
        return self.subject or " ".join(sentence.text for sentence in self.sentences)

    def citation(self) -> SentenceCitation:
        start, end = self.sentences[0].start, self.sentences[-1].end
        words = _SPACES.sub(" ", self.mail.mail.text[start:end])
        return SentenceCitation(self.mail.mail.message_id, start, end, words)


def find_words(quote: str, text: str) -> tuple[int, int] | None:
    """Return the span of a quote in a text, verbatim except for white space and at word boundaries."""
    words = quote.split()
    if not words or len(quote) > _MAX_QUOTE:
        return None
    pattern = r"\s+".join(re.escape(word) for word in words)
    before = r"(?<!\w)" if re.match(r"\w", words[0]) else ""
    after = r"(?!\w)" if re.search(r"\w$", words[-1]) else ""
    match = re.search(before + pattern + after, text)
    return (match.start(), match.end()) if match else None


class _Flat(NamedTuple):
    """A normalized text with single spaces, and the positions of its words in both texts."""

    text: str
    places: list[int]
    words: list[tuple[int, int]]


@lru_cache(maxsize=256)
def _flat(text: str) -> _Flat:
    plain = text.translate(_SAME).lower()
    parts: list[str] = []
    places: list[int] = []
    words: list[tuple[int, int]] = []
    length = 0
    for match in _WORD.finditer(plain):
        if _BULLET.fullmatch(match[0]):
            continue  # the sign of a list item
        word = match[0].replace("\u2026", "...").replace("--", "-")
        parts.append(word)
        places.append(length)
        words.append(match.span())
        length += len(word) + 1
    return _Flat(" ".join(parts), places, words)


def _places(quote: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a model's quote, whose signs, case and line breaks may differ."""
    wanted = _flat(_ELLIPSIS.sub("", quote)).text if len(quote) <= _MAX_QUOTE else ""
    if not wanted:
        return
    flat, start = _flat(text), -1
    for _ in range(_MOST_PLACES):
        start = flat.text.find(wanted, start + 1)
        if start < 0:
            return
        end = start + len(wanted)
        if _is_whole(flat.text, start, end):
            yield _in_text(flat, start), _in_text(flat, end)


def _is_whole(text: str, start: int, end: int) -> bool:
    cut_before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    cut_after = end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
    return not cut_before and not cut_after


def _in_text(flat: _Flat, place: int) -> int:
    number = bisect_right(flat.places, place) - 1
    start, end = flat.words[number]
    return min(start + place - flat.places[number], end)


def locate(thread: LinkedThread, quote: ClaimedQuote) -> LocatedQuote | None:
    """Return the located quote, or None if the words are not in the sender's own sentences."""
    if not 1 <= quote.mail <= len(thread.mails):
        return None
    mail = thread.mails[quote.mail - 1]
    sentences = quotable(mail)
    found = (_covered(mail, sentences, quote, place) for place in _places(quote.quote, mail.mail.text))
    return next(filter(None, found), None) or _in_subject(mail, sentences, quote)


def _covered(
    mail: LinkedMail, sentences: Sequence[OwnSentence], quote: ClaimedQuote, place: tuple[int, int]
) -> LocatedQuote | None:
    start, end = place
    covering = tuple(sentence for sentence in sentences if sentence.start < end and sentence.end > start)
    if not covering or len(covering) > _MOST_SENTENCES or not _is_long_enough(quote.quote, covering, start):
        return None
    if any(_BOILERPLATE.search(sentence.text) for sentence in covering):
        return None
    # Another person's words may be between two sentences. The quote is then not one person's.
    own = sum(sentence.end - sentence.start for sentence in covering)
    is_own = covering[0].start <= start and covering[-1].end >= end and own * 2 > end - start
    left_off = mail.mail.text[covering[0].start : start]
    return LocatedQuote(mail, covering, left_off) if is_own else None


def _in_subject(
    mail: LinkedMail, sentences: Sequence[OwnSentence], quote: ClaimedQuote
) -> LocatedQuote | None:
    words = word_key(quote.quote)
    if not sentences or len(words.split()) < _MIN_WORDS or words not in word_key(mail.mail.subject):
        return None
    return LocatedQuote(mail, (sentences[0],), subject=mail.mail.subject)


def _is_long_enough(quote: str, covering: tuple[OwnSentence, ...], start: int) -> bool:
    """Return whether the quote has three words, or is a whole sentence or an opening such as "Yes."."""
    if len(quote.split()) >= _MIN_WORDS or (start == covering[0].start and quote.rstrip()[-1:] in ".!?"):
        return True
    bare = word_key(quote) or quote.strip(" .!")
    texts = [sentence.text for sentence in covering]
    return any(bare in {word_key(text), text.strip(" .!")} for text in (" ".join(texts), *texts))
