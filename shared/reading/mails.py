"""The mails of a thread as the reader uses them: sentences, quoted blocks and language."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from operator import attrgetter

from shared.mail.models import Segment, SegmentKind
from shared.mail.segments import NormalizedBody


@dataclass(frozen=True, slots=True)
class QuotedBlock:
    """Lines quoted from another mail without their marks. `position` counts in the own text around them."""

    position: int
    text: str


@dataclass(frozen=True, slots=True)
class ThreadMail:
    message_id: str
    address: str
    text: str
    """The sender's own text, without quotes, signature or footer. Spans in a reading count in it."""
    name: str = ""
    subject: str = ""
    date: datetime | None = None
    reply_to: str | None = None
    references: tuple[str, ...] = ()
    quotes: tuple[QuotedBlock, ...] = ()
    failed: bool = False
    """The sender failed the authenticity check that the source names."""
    passed: bool = False
    """The sender passed that check. Without a result the mail neither passed nor failed."""
    list_id: str = ""
    """The List-Id of the mail without brackets."""
    attributions: tuple[str, ...] = ()
    """The lines that name the authors of the quotes below them."""


_MARKS = re.compile(r"^[ \t]{0,4}(?:[A-Za-z]{0,3}[>|] {0,2}){1,20}", re.MULTILINE)


def quoted_blocks(
    body_raw: str, segments: Sequence[Segment], body: NormalizedBody
) -> tuple[QuotedBlock, ...]:
    """Return the quoted blocks of a mail, each at the start of the own text that follows it."""
    found = []
    for kind, start, end in segments:
        if kind is SegmentKind.QUOTE:
            below = bisect_left(body.pieces, start, key=attrgetter("raw_start"))
            position = body.pieces[below].start if below < len(body.pieces) else len(body.text)
            found.append(QuotedBlock(position, _MARKS.sub("", body_raw[start:end])))
    return tuple(found)


_LIST_ID = re.compile(r"<([^<>\s]{1,200})>\s*$")


def list_id_in(value: str) -> str:
    """Return the id in a List-Id field, which may begin with a description."""
    found = _LIST_ID.search(value)
    return (found[1] if found else value).strip().lower()


def attributions_in(body_raw: str, segments: Sequence[Segment]) -> tuple[str, ...]:
    """Return the first lines of a mail that name whom it quotes."""
    found = (body_raw[start:end] for kind, start, end in segments if kind is SegmentKind.ATTRIBUTION)
    return tuple(" ".join(text[:_MAX_ATTRIBUTION].split()) for text in islice(found, _MAX_ATTRIBUTIONS))


_MAX_ATTRIBUTION, _MAX_ATTRIBUTIONS = 400, 12
MAX_CHARS = 60_000
"""The read part of one mail. A person's words end long before it, and the rest is a log or an attack."""
MAX_SENTENCES = 400
MAX_SENTENCE = 600
"""A longer stretch is read in pieces, so that no pattern meets an unbounded text."""

_PLAIN = str.maketrans(
    dict.fromkeys("\u2019\u2018\u00b4`", "'")
    | dict.fromkeys("\u201c\u201d\u201e", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | {"\xa0": " "}
)
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|[+-] ?[0-2]|\U0001f44d")
_KEY = re.compile(r"[^\W_]+")
_BARE = {code: " " for code in range(128) if not chr(code).isalnum()}
"""For ASCII, a space for everything except letters and digits."""
_LONGEST_GREETING, _LONGEST_ATTRIBUTION = 45, 250

# The last pattern heads a patch in a range-diff. Its indented lines compare two versions.
_DIFF_START = re.compile(
    r"(?:diff --git |--- a/|\+\+\+ b/|@@ .{0,200}@@|"
    r"index [0-9a-f]{6,40}\.\.|Index: \S|\s{0,4}(?:\d{1,3}|-):\s{1,4}(?:[0-9a-f]{6,40}|-{5,}) [!=<>]\s)"
)
_DIFF_LINE = re.compile(r"[-+ @\\]|index |diff |new file|deleted file|similarity|rename |$|GIT binary")
_UNMARKED_QUOTE = re.compile(r"\s{0,4}(?:&gt;|[A-Za-z]{0,12}>|\|\s)")
_ATTRIBUTION = re.compile(
    r"(?:On .{5,150}|.{3,100}) (?:wrote|writes|said)(?: on .{5,40})?\s?:?\s*$|"
    r"(?:In message|Le |Am |El ).{5,120}:\s*$"
)
_FORWARDED = re.compile(r"\s{0,3}-{3,}\s?(?:Original Message|Forwarded|Begin forwarded)", re.IGNORECASE)
_TRAILER = re.compile(r"\s{0,4}(?:[A-Z][a-z]+(?:-[a-z]+){0,3}-by|Cc|Fixes|Link|Message-ID):\s", re.IGNORECASE)
_VOTE_LINE = re.compile(r"\s{0,8}\*?[+-]\s?[0-2]\b")
_PROSE_LINE = re.compile(r" {0,3}(?!diff |index |o\s)[A-Za-z][A-Za-z',]{0,30} (?!\s)")
"""The start of a line that opens no diff, trailer, vote, quote or list item."""
_LIST_ITEM = re.compile(r"\s{0,12}(?:[-*\u2022o+]|\d{1,2}[.)]|\[[ xX]?\])\s+\S")
_GREETING = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|day|evening))(?: [\w.'-]{1,20}){0,3}[,.!: -]*$|"
    r"(?:all|folks|everyone|greetings|best|cheers|sincerely|ciao|br|(?:many |kind |"
    r"best |warm )?(?:regards|thanks|wishes)|thx)(?: (?:again|all|everyone|in advance|a lot))?[,.!: -]*$",
    re.IGNORECASE,
)
# A full stop, perhaps a closing mark, then white space and a sign that can open a sentence. A run of marks is
# tried only from its start, because a start at each mark takes quadratic time. Many people write without
# capitals, so after a full stop a small word that opens sentences is enough. The mark is outside the
# alternatives, so that the engine can skip to it.
_END = re.compile(
    r"[.!?](?:[\"')\]]{0,3}\s+(?=[\"'(\[A-Z0-9`<+*-])|"
    r"(?:(?<![.!?][.!?])[.!?]+|(?<=[!?]))\s+(?=[a-z])|(?<=\.)\s+(?=(?:i|"
    r"it|its|this|that|the|we|you|they|but|so|if|in|there|not|however|what|how|maybe|also)\b))"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|etc|vs|mr|dr|sec|fig|resp|approx|no)|\b[A-Z])\.$", re.IGNORECASE
)
_IN_DIFF = frozenset("+ @")
_LETTER = re.compile(r"[A-Za-z\u00c0-\uffff]|[+-]\s?[0-2]\b|\U0001f44d")


@dataclass(eq=False)
class OwnSentence:
    """One sentence. `text` is shown, with white space folded. Patterns read `folded`."""

    mail: int
    """The number of the mail in its thread."""
    index: int
    start: int
    end: int
    text: str
    block: int
    """The number of the quoted block directly above, or -1."""
    opens_paragraph: bool

    def __post_init__(self) -> None:
        self.folded = fold(self.text)
        self.words = frozenset(_WORD.findall(self.folded))
        self.asks = self.text.rstrip("\"') ").endswith("?")
        self.found: dict[object, re.Match[str] | None] = {}
        """The results of the cues that have searched the sentence."""

    @cached_property
    def key(self) -> str:
        """The bare words, which are equal for the same sentence however it is wrapped or marked."""
        return word_key(self.folded)


def fold(text: str) -> str:
    """Return the text in lower case, with straight quotes and plain dashes."""
    # Most mail is ASCII, and only its backticks change.
    return text.replace("`", "'").lower() if text.isascii() else text.translate(_PLAIN).lower()


def word_key(text: str) -> str:
    """Return the bare words, with one space between them."""
    if text.isascii():
        return " ".join(text.lower().translate(_BARE).split())
    return " ".join(_KEY.findall(text.lower()))


def own_sentences(text: str, quotes: tuple[QuotedBlock, ...], mail: int) -> list[OwnSentence]:
    """Return a mail's own sentences in order. Spans count in `text`."""
    positions = [quote.position for quote in quotes]
    found: list[OwnSentence] = []
    courtesies: list[OwnSentence] = []
    for start, end in _paragraphs(text[:MAX_CHARS], positions):
        opens = True
        for first, last in _sentence_spans(text, start, end):
            shown = " ".join(text[first:last].split())
            if not _LETTER.search(shown):
                continue
            block = bisect_right(positions, first) - 1
            kept = courtesies if _is_greeting(shown) else found
            kept.append(OwnSentence(mail, len(kept), first, last, shown, block, opens))
            opens = opens and kept is courtesies
            if len(found) >= MAX_SENTENCES:
                return found
    # "Thanks." is a statement if it is the whole mail. Next to other text it is a courtesy.
    return found or courtesies[:1]


def _paragraphs(text: str, positions: list[int]) -> Iterator[tuple[int, int]]:
    """Yield spans of prose without diffs, cut at blank lines, quotes, trailers, votes and list items."""
    cuts = set(positions)
    start = offset = -1
    in_diff = False
    position = 0
    patch = _is_patch(text)
    for line in text.split("\n"):
        offset, position = position, position + len(line) + 1
        if in_diff and line[:1] in _IN_DIFF:
            continue
        is_prose = not in_diff and _is_prose(line)
        if not is_prose and (_FORWARDED.match(line) or (patch and line == "---")):
            break
        in_diff = not is_prose and _is_in_diff(line, after_diff=in_diff)
        stops = not is_prose and (in_diff or not line.strip() or _is_foreign_line(line))
        alone = not is_prose and not stops and _stands_alone(line)
        if start >= 0 and (stops or alone or offset in cuts or (not is_prose and _LIST_ITEM.match(line))):
            yield start, offset
            start = -1
        if alone:
            yield offset, offset + len(line)
        elif start < 0 and not stops:
            start = offset
    else:
        offset = position
    if start >= 0:
        yield start, min(offset, len(text))


def _is_prose(line: str) -> bool:
    return bool(_PROSE_LINE.match(line)) and not _is_greeting(line) and not _is_attribution(line)


def _is_in_diff(line: str, *, after_diff: bool) -> bool:
    return bool(_DIFF_START.match(line)) or (after_diff and bool(_DIFF_LINE.match(line)) and line != "")


def _stands_alone(line: str) -> bool:
    return bool(_TRAILER.match(line) or _VOTE_LINE.match(line)) or _is_greeting(line)


def _is_patch(text: str) -> bool:
    return "\ndiff --git " in text or "\n--- a/" in text


def _is_greeting(line: str) -> bool:
    return len(line) < _LONGEST_GREETING and bool(_GREETING.match(line.strip()))


def _is_foreign_line(line: str) -> bool:
    """Return whether a line belongs to another person, though the parser left it in."""
    return bool(_UNMARKED_QUOTE.match(line)) or _is_attribution(line)


def _is_attribution(line: str) -> bool:
    # Most lines cannot end an attribution, so the pattern is tried only on the others.
    may_attribute = line.rstrip().endswith((":", "wrote", "writes", "said")) or " on " in line
    return may_attribute and len(line) < _LONGEST_ATTRIBUTION and bool(_ATTRIBUTION.match(line))


def _sentence_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    # Spans are yielded one by one, so that a mail of many sentences is not read to its end.
    first = start
    for match in _END.finditer(text, start, end):
        if _ABBREVIATION.search(text, max(first, match.start() - 8), match.start() + 1):
            continue
        yield from _pieces(text, first, match.end())
        first = match.end()
    yield from _pieces(text, first, end)


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the stretch without surrounding white space, cut at spaces if it is too long."""
    found: list[tuple[int, int]] = []
    while start < end:
        stop = end if end - start <= MAX_SENTENCE else _cut(text, start)
        piece = text[start:stop]
        left = len(piece) - len(piece.lstrip(" \t\n\r*\u2022"))
        right = len(piece.rstrip())
        if left < right:
            found.append((start + left, start + right))
        start = stop
    return found


def _cut(text: str, start: int) -> int:
    limit = start + MAX_SENTENCE
    space = max(text.rfind(" ", start + 1, limit), text.rfind("\n", start + 1, limit))
    return space if space > 0 else limit


ENGLISH, UNKNOWN = "en", "und"
_SAMPLE = 1_500
_LEAST_WORDS = 8
"""A text of fewer words ("+1", "Danke, passt") shows no language."""
_LEAST_SHARE = 0.08
_LEAST_FOUND = 3
"""Different function words. A single one may be a name, or the end of an address."""
_PLAINLY = 4
_GLANCE = 400
_IN_NO_LANGUAGE = re.compile(r"\S*[@/\\_=<>{}]\S*|^[a-z]+(?:-[a-z]+)*-by:.*$|\w+\.\w+\S*", re.MULTILINE)
"""Addresses, links, code and trailers are in no language."""
_ALPHABETIC = re.compile(r"[^\W\d_]+")
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
)
# Function words of each language. English shares no word of the others.
_FUNCTION_WORDS = {
    ENGLISH: "the and of to is that it for with this be are not have you we as was but if would should from "
    "they what there",
    "de": "und der die das nicht ist ich wir mit auf ein eine dass auch wie wird sind haben aber oder nur "
    "noch sich f\u00fcr werden",
    "fr": "le la les des est une que pas pour dans qui sur avec nous vous mais ce cette sont par aussi je "
    "c'est au",
    "es": "el los las que una para con por pero como est\u00e1 este esta son del muy tambi\u00e9n "
    "m\u00e1s hay ser yo nosotros",
    "it": "il che non per una con sono questo questa della anche come pi\u00f9 ma gli nel alla essere ho "
    "abbiamo",
    "pt": "que n\u00e3o uma para com os por mais como mas isso est\u00e1 s\u00e3o tamb\u00e9m da ao "
    "voc\u00ea muito eu n\u00f3s",
    "nl": "het een niet van dat voor met zijn ook maar wij deze wordt aan bij nog geen naar kan ik",
    "sv": "och att det inte som med f\u00f6r \u00e4r jag vi men har till kan den ett om p\u00e5 ska",
    "pl": "nie jest si\u0119 na \u017ce jak ale dla przez tak czy jest po od tylko mo\u017ce ten tego",
}
_MANY_WORDS = 15
_ENGLISH_WORDS = frozenset(_FUNCTION_WORDS[ENGLISH].split()) | {"my", "or", "can", "when", "which"}
_OWNERS = {word: language for language, words in reversed(_FUNCTION_WORDS.items()) for word in words.split()}
_PLAIN_WORDS = frozenset(word for word, language in _OWNERS.items() if language == ENGLISH)
_OTHER_WORDS = frozenset(_OWNERS) - _PLAIN_WORDS


def language_of(text: str) -> str:
    """Return the language's code, or `und` if the text shows none."""
    sample = text[:_SAMPLE].lower()
    # Most mail is English and shows it early.
    if _is_plainly_english(sample[:_GLANCE]) or _is_plainly_english(sample):
        return ENGLISH
    return _by_function_words(_IN_NO_LANGUAGE.sub(" ", sample))


def _is_plainly_english(sample: str) -> bool:
    words = set(sample.split())
    return len(_PLAIN_WORDS & words) >= _PLAINLY and _OTHER_WORDS.isdisjoint(words)


def is_readable(text: str, language: str) -> bool:
    """Return whether a text is English or too short to tell. Long prose without English words is not."""
    if language != UNKNOWN:
        return language == ENGLISH
    words = _ALPHABETIC.findall(_IN_NO_LANGUAGE.sub(" ", text[:_SAMPLE].lower()))
    return len(words) < _MANY_WORDS or not _ENGLISH_WORDS.isdisjoint(words)


def _by_function_words(sample: str) -> str:
    letters = _ALPHABETIC.findall(sample)
    total = sum(map(len, letters))
    for code, script in _SCRIPTS:
        if total and len(script.findall(sample)) > total * 0.3:
            return code
    if len(letters) < _LEAST_WORDS:
        return UNKNOWN
    words = [word for word in letters if word in _OWNERS]
    counts = Counter(map(_OWNERS.__getitem__, words))
    if not counts:
        return UNKNOWN
    best, count = counts.most_common(1)[0]
    if counts[ENGLISH] >= count:
        return ENGLISH
    different = len({word for word in words if _OWNERS[word] == best})
    return best if different >= _LEAST_FOUND and count >= len(letters) * _LEAST_SHARE else UNKNOWN


def main_language(mails: Sequence[ThreadMail], languages: Sequence[str]) -> str:
    """Return the language of the first mail, or of most people if that mail shows none."""
    if languages[0] != UNKNOWN:
        return languages[0]
    spoken: dict[str, Counter[str]] = {}
    for mail, language in zip(mails, languages, strict=True):
        if language != UNKNOWN:
            spoken.setdefault(mail.address.lower(), Counter())[language] += 1
    counts = Counter(min(own, key=lambda code: (-own[code], code)) for own in spoken.values())
    return min(counts, key=lambda code: (-counts[code], code != ENGLISH, code), default=ENGLISH)
