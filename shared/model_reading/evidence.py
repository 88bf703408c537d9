"""Where a quote stands: in which of a mail's own sentences, or in its subject."""

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
# One letter for one letter, so that places stay: typographic signs, and those of Windows-1252 that a mail
# without its charset leaves as control characters.
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
"""What a mail server or a lawyer adds to everybody's mail shows nothing of anybody."""
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|\u2026|\[\.\.\.\])$")


@dataclass(frozen=True, slots=True)
class LocatedQuote:
    """The whole sentences that a quote is a part of, so that no "not" is cut off."""

    mail: LinkedMail
    sentences: tuple[OwnSentence, ...]
    left_off: str = ""
    """What stands in the first of them before the quote."""
    subject: str = ""
    """The subject, where the quote stands there: then the mail's first sentence leads to it."""

    @property
    def text(self) -> str:
        return self.subject or " ".join(sentence.text for sentence in self.sentences)

    def citation(self) -> SentenceCitation:
        start, end = self.sentences[0].start, self.sentences[-1].end
        words = _SPACES.sub(" ", self.mail.mail.text[start:end])
        return SentenceCitation(self.mail.mail.message_id, start, end, words)


def find_words(quote: str, text: str) -> tuple[int, int] | None:
    """Where a quote stands in a text: verbatim but for white space, and at the edges of words."""
    words = quote.split()
    if not words or len(quote) > _MAX_QUOTE:
        return None
    pattern = r"\s+".join(re.escape(word) for word in words)
    before = r"(?<!\w)" if re.match(r"\w", words[0]) else ""
    after = r"(?!\w)" if re.search(r"\w$", words[-1]) else ""
    match = re.search(before + pattern + after, text)
    return (match.start(), match.end()) if match else None


class _Flat(NamedTuple):
    """A text in plain signs with single spaces, and where each of its words stands in it and in the text."""

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
    """Where a model's quote stands, whose signs, letters and line breaks may be of another form."""
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
    """Whether no word is cut at either end."""
    cut_before = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    cut_after = end < len(text) and text[end].isalnum() and text[end - 1].isalnum()
    return not cut_before and not cut_after


def _in_text(flat: _Flat, place: int) -> int:
    number = bisect_right(flat.places, place) - 1
    start, end = flat.words[number]
    return min(start + place - flat.places[number], end)


def locate(thread: LinkedThread, quote: ClaimedQuote) -> LocatedQuote | None:
    """None where the mail is not there, or the words are not its sender's own.

    What stands quoted, in a signature, a diff or an ancestor's mail is not in the own sentences.
    """
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
    covering = tuple(one for one in sentences if one.start < end and one.end > start)
    if not covering or len(covering) > _MOST_SENTENCES or not _is_long_enough(quote.quote, covering, start):
        return None
    if any(_BOILERPLATE.search(one.text) for one in covering):
        return None
    # Between two sentences may stand somebody else's words: then the quote is not one person's.
    own = sum(one.end - one.start for one in covering)
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
    """Three words, a whole sentence such as "+1", or its opening up to a mark, such as "Yes."."""
    if len(quote.split()) >= _MIN_WORDS or (start == covering[0].start and quote.rstrip()[-1:] in ".!?"):
        return True
    bare = word_key(quote) or quote.strip(" .!")
    whole = " ".join(one.text for one in covering)
    return any(bare in {word_key(one), one.strip(" .!")} for one in (whole, *(one.text for one in covering)))
