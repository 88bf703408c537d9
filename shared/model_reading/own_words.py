"""The sentences that may be quoted from a mail: its own, and a patch's notes below `---`."""

import re
from collections.abc import Sequence
from dataclasses import replace

from shared.reading.linked_thread import LinkedMail
from shared.reading.mails import OwnSentence, own_sentences

_CUT = re.compile(r"^---[ \t]*$", re.MULTILINE)
_STAT = re.compile(
    r"^ ?\S.{0,200}\|\s+(?:\d+ [+-]*|Bin .*)$|^ \d+ files? changed|^diff --git |^--- a/|^Index: ",
    re.MULTILINE,
)
_FILE = re.compile(r"^(?:\+\+\+ (?:b/)?|Index: )(\S+)", re.MULTILINE)
_CHANGED = re.compile(r"^[+-](?![+-]{2} )", re.MULTILINE)
_MAX_CHARS = 120_000
_MOST_FILES = 5


def quotable(mail: LinkedMail) -> Sequence[OwnSentence]:
    """Return the sentences that the rules read, followed by the notes that they leave out."""
    return [*mail.sentences, *_notes(mail)]


def _notes(mail: LinkedMail) -> list[OwnSentence]:
    """Return what a patch's author writes between `---` and the diff, such as changes and doubts."""
    text = mail.mail.text[:_MAX_CHARS]
    cut = _CUT.search(text) if mail.has_diff else None
    if cut is None:
        return []
    stop = _STAT.search(text, cut.end())
    offset, notes = cut.end(), text[cut.end() : stop.start() if stop else len(text)]
    known = {sentence.start for sentence in mail.sentences}
    return [
        replace(sentence, start=sentence.start + offset, end=sentence.end + offset)
        for sentence in own_sentences(notes, (), mail.number)
        if sentence.start + offset not in known
    ]


def diff_note(text: str) -> str:
    """Return the files of a diff and the number of changed lines, or an empty string."""
    files = list(dict.fromkeys(_FILE.findall(text[:_MAX_CHARS])))
    if not files:
        return ""
    more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
    changed = len(_CHANGED.findall(text[:_MAX_CHARS]))
    return f"{', '.join(files[:_MOST_FILES])}{more}: {changed} lines"
