"""Where a claimed quote stands: in its sender's own sentences, whole, or nowhere."""

import re
from dataclasses import dataclass

from shared.documents.values import SentenceCitation
from shared.domain.chat_reading.answer import ClaimedQuote
from shared.domain.consensus.linked_thread import LinkedMail, LinkedThread
from shared.domain.consensus.mails import OwnSentence

_MIN_WORDS = 3
_MAX_QUOTE = 2_400
_MOST_SENTENCES = 3
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class LocatedQuote:
    """The whole sentences that a quote is a part of, so that no "not" is cut off."""

    mail: LinkedMail
    sentences: tuple[OwnSentence, ...]
    left_off: str = ""
    """What stands in the first of them before the quote."""

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)

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


def locate(thread: LinkedThread, quote: ClaimedQuote) -> LocatedQuote | None:
    """None where the mail is not there, or the words are not its sender's own.

    What stands quoted, in a signature, a diff or an ancestor's mail is not in the own sentences.
    """
    if not 1 <= quote.mail <= len(thread.mails):
        return None
    mail = thread.mails[quote.mail - 1]
    found = find_words(quote.quote, mail.mail.text)
    if found is None:
        return None
    start, end = found
    covering = tuple(one for one in mail.sentences if one.start < end and one.end > start)
    if not covering or len(covering) > _MOST_SENTENCES or not _is_long_enough(quote.quote, covering):
        return None
    # Between two sentences may stand somebody else's words: then the quote is not one person's.
    own = sum(one.end - one.start for one in covering)
    is_own = covering[0].start <= start and covering[-1].end >= end and own * 2 > end - start
    left_off = mail.mail.text[covering[0].start : start]
    return LocatedQuote(mail, covering, left_off) if is_own else None


def _is_long_enough(quote: str, covering: tuple[OwnSentence, ...]) -> bool:
    """Three words, or a whole sentence such as "+1"."""
    words = quote.split()
    bare = " ".join(words).strip(".!")
    return len(words) >= _MIN_WORDS or any(bare == " ".join(one.text.split()).strip(".!") for one in covering)
