"""What a sentence looks like to the fitted weights: cues, place, who says it, and what it answers.

Every feature is a number between 0 and 2. Names are the keys of `sentence_weights`; a feature without a
weight counts nothing, so that one can be tried in training before it ships.
"""

# ruff: noqa: PLR2004 -- the bound of a feature is its definition

import re
from collections import Counter
from collections.abc import Iterator

from shared.domain.consensus.cues import (
    ACCEPTS,
    CONDITION,
    CONTRAST,
    NEGATION,
    OPEN,
    PROMISES,
    PROPOSES,
    RULES,
    SOLVED,
    THANKS,
    WITHDRAWS,
    Cue,
)
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence, word_key
from shared.domain.consensus.proposition import Put, asks_group
from shared.domain.consensus.reading import Genre, PropositionForm
from shared.domain.consensus.sentence_context import relation
from shared.domain.consensus.stance_cues import AGREES, APPROVES, DOUBTS, OPPOSES, SUPPORTS

_STOP = frozenset(
    [
        "this",
        "that",
        "with",
        "from",
        "have",
        "would",
        "could",
        "should",
        "there",
        "their",
        "they",
        "them",
        "then",
        "than",
        "what",
        "when",
        "which",
        "while",
        "will",
        "been",
        "being",
        "were",
        "your",
        "about",
        "into",
        "some",
        "also",
        "just",
        "like",
        "more",
        "most",
        "much",
        "only",
        "over",
        "such",
        "very",
        "does",
        "doing",
        "done",
        "here",
        "these",
        "those",
        "other",
        "because",
        "since",
        "where",
        "think",
        "make",
        "made",
        "want",
        "need",
        "know",
        "using",
        "used",
    ]
)
_CONTENT = re.compile(r"[a-z][a-z0-9_-]{3,}")
_CODE = re.compile(r"[{}=;<>|]{2,}|https?:|^\W{0,3}\$|^\d|::|\w\(\)")
_JUDGES = Cue(
    "think|believe|guess|agree|prefer|suggest|so|should",
    r"\bi (?:think|believe|guess|agree|prefer|suggest)\b|\bso\b|\bshould\b",
)
_MUST = Cue(
    "must|should|need|needs|needed|have|cannot|can't",
    r"\b(?:must|should|need(?:s|ed)? to|have to|cannot|can't)\b",
)
_BAD = Cue(
    "problem|problems|issue|issues|wrong|bad|worse|break|breaks|breaking|broken|confusing|complex|"
    "complexity|unnecessary|risk|risky|"
    "concern|concerns|worry|fail|fails|lose|hard|difficult|ugly|fragile|unclear|surprising|expensive|hack|"
    "dangerous|harm",
    r".",
)
_ACTS = Cue("i'll|will|we'll|let's|let|i've|done|agreed|fixed|merged|queued", r".")
_FIRST_PERSON = Cue("i|i'll|i've|i'd|we|we'll|we've|let's|my|our|i'm", r".")
_QUESTION_WORD = re.compile(
    r"\W{0,3}(?:is|are|do|does|should|can|could|would|what|why|how|where|which|who|any)\b"
)
# What two features say together and neither alone.
_TOGETHER = {
    "acts to the proposition": ("acts", "to the proposer"),
    "accepts by a role": ("accepts", "by a role"),
    "rules by a role": ("rules", "by a role"),
    "approves the proposition": ("approves", "to the proposition"),
    "doubts the proposition": ("doubts", "to the proposer"),
    "negates to the proposer": ("negation", "to the proposer"),
    "bad to the proposer": ("bad", "to the proposer"),
    "promises by the proposer": ("promises", "by the proposer"),
    "asks at the end": ("asks", "end of thread"),
    "proposes in the proposition": ("proposes", "in the proposition"),
    "first in the proposition": ("early", "in the proposition"),
    "first of an answer": ("first", "to the proposer"),
    "short thread's answer": ("mail of few", "last mail"),
    "judges on topic": ("judges", "topic words"),
    "must on topic": ("must", "topic words"),
}
_YOU = frozenset({"you", "your", "you're"})
_REASON = re.compile(
    r"\b(?:because|since|therefore|instead|rather than|so that|in order to|which means|otherwise|the "
    r"reason|the point|basically|in short|in summary|the problem|the fact)\b"
)
_MAX_QUOTED, _MAX_ALL_QUOTED = 1_200, 150_000
_REQUOTED_KEY = 50
_MIN_REQUOTED = 18


class FeatureReader:
    """Holds what the features of all sentences of a thread share."""

    def __init__(self, thread: LinkedThread, put: Put, genre: Genre) -> None:
        self._thread = thread
        self._put = put
        self._genre = genre
        contents = {
            mail.number: _content(" ".join(one.folded for one in mail.sentences)) for mail in thread.mails
        }
        self._spread = Counter(word for content in contents.values() for word in content)
        common = {word for word, count in self._spread.items() if count > 1}
        self._topic = (contents[put.mail.number] & common) or common
        self._last_of = {mail.person: mail.number for mail in thread.mails}
        self._replies = Counter(mail.parent for mail in thread.mails)
        self._quoted = " | ".join(
            word_key(block.text[-_MAX_QUOTED:]) for mail in thread.mails for block in mail.mail.quotes[:12]
        )[:_MAX_ALL_QUOTED]

    def features(self, sentence: OwnSentence) -> dict[str, float]:
        found = dict(self._place(sentence))
        found.update(self._writer(sentence))
        found.update(self._words(sentence))
        found.update(self._wording(sentence))
        for name, (one, other) in _TOGETHER.items():
            if one in found and other in found:
                found[name] = found[one] * found[other]
        return found

    def _place(self, sentence: OwnSentence) -> Iterator[tuple[str, float]]:
        thread, mail = self._thread, self._thread.mail_of(sentence)
        count, total = len(mail.sentences), len(thread.mails)
        flags = {
            "first": sentence.index == 0,
            "second": sentence.index == 1,
            "last of its mail": sentence.index == count - 1,
            "deep in its mail": sentence.index > 10,
            "early": sentence.index < 5,
            "paragraph start": sentence.opens_paragraph,
            "last mail": mail.number == total - 1,
            "end of thread": total > 3 and mail.number >= total - 2,
            "person's last mail": self._last_of[mail.person] == mail.number,
            "mail of few": count <= 4,
            "mail of many": count > 25,
            "first half": mail.number * 2 <= total,
            "much answered": self._replies[mail.number] > 1,
            "in the proposition": mail is self._put.mail,
            "in the root": mail is thread.root,
            "long thread": total > 12,
        }
        yield from _true(flags)

    def _writer(self, sentence: OwnSentence) -> Iterator[tuple[str, float]]:
        mail = self._thread.mail_of(sentence)
        towards = relation(self._thread, self._put, sentence) if mail is not self._thread.root else "none"
        flags = {
            "by a role": self._thread.people.role(mail.number) is not None,
            "by the proposer": mail.person in self._put.proposers,
            "to the proposition": towards == "put",
            "to the proposer": towards in {"put", "author"},
            "something proposed": self._genre in {Genre.PATCH, Genre.CALL, Genre.PROPOSAL},
            "patch": self._genre is Genre.PATCH,
            "formal": self._put.form in {PropositionForm.VOTE, PropositionForm.CALL},
            "asked or told": self._genre
            in {Genre.QUESTION, Genre.ANNOUNCEMENT, Genre.DISCUSSION, Genre.OTHER},
        }
        yield from _true(flags)

    def _words(self, sentence: OwnSentence) -> Iterator[tuple[str, float]]:
        length, content = len(sentence.text), _content(sentence.folded)
        shared = len(content & self._topic)
        yield from _true(
            {"short": length < 40, "tiny": length < 15, "long": length > 220, "middling": 60 <= length <= 200}
        )
        yield "topic words", min(1.0, shared / 5)
        yield "density", shared / (len(content) + 3)
        yield "shared words", min(1.0, sum(self._spread[word] > 2 for word in content) / 8)
        start = sentence.key[:_REQUOTED_KEY]
        if len(start) > _MIN_REQUOTED:
            yield "requoted", min(2.0, self._quoted.count(start))

    def _wording(self, sentence: OwnSentence) -> Iterator[tuple[str, float]]:
        folded = sentence.folded
        flags = {
            "asks": sentence.asks,
            "asks openly": sentence.asks and bool(_QUESTION_WORD.match(folded)),
            "asks the group": asks_group(sentence),
            "proposes": PROPOSES.finds(sentence),
            "judges": _JUDGES.finds(sentence),
            "doubts": DOUBTS.finds(sentence),
            "opposes": OPPOSES.finds(sentence),
            "approves": any(cue.finds(sentence) for cue in (SUPPORTS, APPROVES, AGREES)),
            "accepts": ACCEPTS.finds(sentence),
            "rules": RULES.finds(sentence),
            "promises": PROMISES.finds(sentence),
            "withdraws": WITHDRAWS.finds(sentence),
            "solved": SOLVED.finds(sentence),
            "open": OPEN.finds(sentence),
            "thanks": THANKS.finds(sentence),
            "negation": NEGATION.finds(sentence),
            "contrast": CONTRAST.finds(sentence),
            "starts with but": folded.lstrip("\"'( ").startswith(("but ", "however", "still,", "that said")),
            "condition": CONDITION.finds(sentence),
            "must": _MUST.finds(sentence),
            "bad": _BAD.finds(sentence),
            "acts": _ACTS.finds(sentence),
            "first person": _FIRST_PERSON.finds(sentence),
            "reasons": bool(_REASON.search(folded)),
            "ends in a full stop": folded.endswith((".", "!")),
            "names a number": bool(re.search(r"\d", folded)),
            "you": not _YOU.isdisjoint(sentence.words),
            "code or link": bool(_CODE.search(folded)),
            "ends in colon": folded.endswith(":"),
            "trailer": folded.endswith(">") and "-by:" in folded,
        }
        yield from _true(flags)


def _true(flags: dict[str, bool]) -> Iterator[tuple[str, float]]:
    for name, flag in flags.items():
        if flag:
            yield name, 1.0


def _content(text: str) -> set[str]:
    return set(_CONTENT.findall(text)) - _STOP
