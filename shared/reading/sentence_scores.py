"""Scores sentences as key points, decisions, objections and open issues, by fitted weights and few rules.

Rules alone transferred worse than weights. A found sentence is shown as a quote, never as a claim.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from itertools import chain

from shared.models.values import Genre, PropositionForm
from shared.reading import closings, cues
from shared.reading.linked_thread import LinkedMail, LinkedThread
from shared.reading.mails import OwnSentence, word_key
from shared.reading.proposal import Proposal, asks_group
from shared.reading.sentence_weights import THRESHOLDS, WEIGHTS
from shared.reading.stance_cues import AGREES, APPROVES, DOUBTS, OPPOSES, SUPPORTS
from shared.reading.stances import relation


class Head(StrEnum):
    """A kind of sentence, with one column of fitted weights."""

    POINT = "point"
    DECISION = "decision"
    OBJECTION = "objection"
    OPEN_ISSUE = "open issue"


_COLUMNS = {head: column for column, head in enumerate(Head)}
"""The place of each head in a row of weights or scores."""

# ruff: noqa: PLR2004 -- the bound of a feature is its definition


_STOP_WORDS = (
    "this that with from have would could should there their they them then than what when which while "
    "will been being were your about into some also just like more most much only over such very does "
    "doing done here these those other because since where think make made want need know using used"
)
_STOP = frozenset(_STOP_WORDS.split())
_CODE_RUN = re.compile(r"[{}=;<>|][{}=;<>|]")  # spelled out: so the engine skips to the first of them
_CODE_START = re.compile(r"\W{0,3}\$|\d")
_CALL = re.compile(r"\w\(\)")
_JUDGES = cues.Cue(
    "think|believe|guess|agree|prefer|suggest|so|should",
    r"\bi (?:think|believe|guess|agree|prefer|suggest)\b|\bso\b|\bshould\b",
)
_MUST = cues.Cue(
    "must|should|need|needs|needed|have|cannot|can't",
    r"\b(?:must|should|need(?:s|ed)? to|have to|cannot|can't)\b",
)
_BAD = cues.Cue(
    "problem|problems|issue|issues|wrong|bad|worse|break|breaks|breaking|broken|confusing|complex|complexity|"
    "unnecessary|risk|risky|concern|concerns|worry|fail|fails|lose|hard|difficult|ugly|fragile|unclear|"
    "surprising|expensive|hack|dangerous|harm"
)
_WISHES = cues.Cue(
    "please|should|need|needs|missing|typo|forgot|better|must|instead|drop|remove|rather|could|why|prefer",
    r"\bplease (?:\w+ )?(?:use|add|fix|change|remove|drop|split|include|rebase|resend|"
    r"don't|do not|send|move|make|rename|put|keep|wrap|document|explain|avoid|replace|update|run|check)\b",
    r"\b(?:this|that|it|these|you) (?:should|must|needs? to|could)\b",
    r"\b(?:would|will|might) be (?:better|nicer|cleaner|simpler)\b|\byou (?:forgot|missed)\b|\btypos?\b",
    r"\bshould (?:\w+ )?be\b|"
    r"\bwhy (?:not|don't|do you|do we|is|are|can't)\b|\bi(?:'d| would) (?:rather|prefer|suggest)\b",
    r"^\W{0,4}(?:missing|drop|remove|use|rename|move)\b|\binstead\b",
)
_ACTS = cues.Cue("i'll|will|we'll|let's|let|i've|done|agreed|fixed|merged|queued")
_FIRST_PERSON = cues.Cue("i|i'll|i've|i'd|we|we'll|we've|let's|my|our|i'm")
_QUESTION_WORD = re.compile(
    r"\W{0,3}(?:is|are|do|does|should|can|could|would|what|why|how|where|which|who|any)\b"
)
_REASONS = cues.Cue(
    "because|since|therefore|instead|rather|so|order|means|otherwise|reason|point|basically|short|summary|"
    "problem|fact",
    r"\b(?:because|since|therefore|instead|rather than|so that|in order to|"
    r"which means|otherwise|the reason|the point|basically|in short|in summary|the problem|the fact)\b",
)
# Pairs of features that together say something that neither says alone.
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
    "asks, unanswered": ("asks", "unanswered"),
    "proposes in the proposition": ("proposes", "in the proposition"),
    "first in the proposition": ("early", "in the proposition"),
    "first of an answer": ("first", "to the proposer"),
    "judges on topic": ("judges", "topic words"),
    "must on topic": ("must", "topic words"),
    "wishes for a patch": ("wishes", "to a patch"),
    "under a quote of a patch": ("under a quote", "to a patch"),
    "asks of a patch": ("asks", "to a patch"),
}
_WORDED: dict[cues.Cue, str] = {
    cues.PROPOSES: "proposes",
    _JUDGES: "judges",
    DOUBTS: "doubts",
    OPPOSES: "opposes",
    cues.ACCEPTS: "accepts",
    closings.RULES: "rules",
    cues.PROMISES: "promises",
    cues.WITHDRAWS: "withdraws",
    cues.SOLVED: "solved",
    cues.OPEN: "open",
    cues.THANKS: "thanks",
    cues.NEGATION: "negation",
    cues.CONTRAST: "contrast",
    cues.CONDITION: "condition",
    _MUST: "must",
    _BAD: "bad",
    _WISHES: "wishes",
    _ACTS: "acts",
    _FIRST_PERSON: "first person",
    _REASONS: "reasons",
}
_WORDINGS = cues.Family(*_WORDED)
_APPROVAL = cues.Family(AGREES, *APPROVES.cues, *SUPPORTS.cues)
_WITH: dict[str, list[tuple[str, str]]] = defaultdict(list)
"""For each sentence feature, the weighted combined features and their other parts."""
for _name, (_part, _other) in _TOGETHER.items():
    if _name in WEIGHTS:
        _WITH[_part].append((_name, _other))
_Row = tuple[float, float, float, float]
"""One number for each head."""
_DIGITS = 9
_DEEP = 11
"""The index from which a sentence is deep in its mail."""
_SIZES = (15, 40, 60, 201, 221)
"""Lengths in letters that separate tiny, short, middling and long sentences."""
_FIRST, _LAST = 16, 4
_DIGIT = re.compile(r"[0-9]")
_CODE_MARK = re.compile(r"[{}=;<>|$:()]")
_YOU = frozenset({"you", "your", "you're"})
_BUT = ("but ", "however", "still,", "that said")
_MAX_QUOTED, _MAX_ALL_QUOTED = 600, 6_000
_SHINGLE = 4
"""Words in a row by which a sentence is recognized in a quote."""


class FeatureReader:
    """Features of sentences, with what all sentences of a thread share."""

    def __init__(self, thread: LinkedThread, proposal: Proposal, genre: Genre) -> None:
        self._thread = thread
        self._proposal = proposal
        self._genre = genre
        self._words = _ThreadWords(thread, proposal)
        self._last_of = {mail.person: mail.number for mail in thread.mails}
        self._first_of = {mail.person: mail.number for mail in reversed(thread.mails)}
        self._replies = Counter(mail.parent for mail in thread.mails)
        self._promised_to = {
            mail.parent
            for mail in thread.mails
            if mail.parent is not None and mail.person in proposal.proposers and mail.has(cues.PROMISES)
        }
        self._of_mail: dict[tuple[int, str], tuple[frozenset[str], _Row]] = {}

    def features(self, sentence: OwnSentence) -> dict[str, float]:
        """Return all features: of the mail, of the sentence, and of both together."""
        shared, _ = self._of_its_mail(sentence)
        found = {
            **dict.fromkeys(shared, 1.0),
            **dict.fromkeys(self._own(sentence), 1.0),
            **self._words.amounts(sentence),
        }
        for name, (first, other) in _TOGETHER.items():
            if first in found and other in found:
                found[name] = found[first] * found[other]
        return found

    def scores(self, sentence: OwnSentence) -> _Row:
        """Return for each head the sum of the weights of the sentence's features."""
        shared, base = self._of_its_mail(sentence)
        own = self._own(sentence)
        amounts = self._words.amounts(sentence)
        rows = [base, *(WEIGHTS[name] for name in own if name in WEIGHTS)]
        rows += [
            _times(WEIGHTS[name], amount) for name, amount in amounts.items() if amount and name in WEIGHTS
        ]
        for feature in own:
            for name, other in _WITH.get(feature, ()):
                if other in shared:
                    rows.append(WEIGHTS[name])
                elif amount := amounts.get(other):
                    rows.append(_times(WEIGHTS[name], amount))
        # The last digit of a sum depends on the order of its terms, and two runs must agree.
        point, decision, objection, still_open = map(sum, zip(*rows, strict=True))
        return (
            round(point, _DIGITS),
            round(decision, _DIGITS),
            round(objection, _DIGITS),
            round(still_open, _DIGITS),
        )

    def _of_its_mail(self, sentence: OwnSentence) -> tuple[frozenset[str], _Row]:
        """Return the features that sentences of a mail with one target share, with their weights."""
        mail = self._thread.mail_of(sentence)
        towards = (
            relation(self._thread, self._proposal, sentence) if mail is not self._thread.root else "none"
        )
        known = self._of_mail.get((mail.number, towards))
        if known is None:
            names = frozenset(self._shared(mail, towards))
            rows = [WEIGHTS[name] for name in ("bias", *names) if name in WEIGHTS]
            point, decision, objection, still_open = map(sum, zip(*rows, strict=True))
            known = self._of_mail[mail.number, towards] = names, (point, decision, objection, still_open)
        return known

    def _own(self, sentence: OwnSentence) -> list[str]:
        """Return the features of the sentence's place, form and wording."""
        mail = self._thread.mail_of(sentence)
        found = ["puts it"] if sentence is self._proposal.words else []
        found += _of_place(
            min(sentence.index, _DEEP),
            bisect_right(_SIZES, len(sentence.text)),
            is_last=sentence.index == len(mail.sentences) - 1,
            opens_paragraph=sentence.opens_paragraph,
            is_under_quote=sentence.block >= 0,
        )
        found += _of_form(sentence.folded)
        found += _of_wording(sentence)
        return found

    def _shared(self, mail: LinkedMail, towards: str) -> Iterator[str]:
        """Return the features that sentences of a mail with one target share."""
        count, total = len(mail.sentences), len(self._thread.mails)
        flags = {
            "last mail": mail.number == total - 1,
            "end of thread": total > 3 and mail.number >= total - 2,
            "person's last mail": self._last_of[mail.person] == mail.number,
            "person's first mail": self._first_of[mail.person] == mail.number,
            "mail of one": count == 1,
            "mail of few": count <= 4,
            "mail of many": count > 25,
            "first half": mail.number * 2 <= total,
            "unanswered": mail.number not in self._thread.answered_by_others,
            "much answered": self._replies[mail.number] > 1,
            "in the proposition": mail is self._proposal.mail,
            "in a later version": mail.number in self._proposal.mails and mail is not self._proposal.mail,
            "in the root": mail is self._thread.root,
            "short thread": total <= 5,
            "long thread": total > 12,
            "by a role": self._thread.people.role(mail.number) is not None,
            "by the proposer": mail.person in self._proposal.proposers,
            "to the proposition": towards == "proposal",
            "to the proposer": towards in {"proposal", "author"},
            "something proposed": self._genre in {Genre.PATCH, Genre.CALL, Genre.PROPOSAL},
            "patch": self._genre is Genre.PATCH,
            "formal": self._proposal.form in {PropositionForm.VOTE, PropositionForm.CALL},
            "asked or told": self._genre
            in {Genre.QUESTION, Genre.ANNOUNCEMENT, Genre.DISCUSSION, Genre.OTHER},
        }
        flags["to a patch"] = flags["patch"] and flags["to the proposer"]
        flags["approves elsewhere"] = _approves(mail)
        flags["promised after"] = mail.number in self._promised_to
        flags["short thread's answer"] = flags["mail of few"] and flags["last mail"]
        return (name for name, flag in flags.items() if flag)


class _ThreadWords:
    """The topic words of a thread, and the starts of sentences that its quotes repeat."""

    def __init__(self, thread: LinkedThread, proposal: Proposal) -> None:
        candidates = candidates_of(thread)
        by_mail: dict[int, list[frozenset[str]]] = {mail.number: [] for mail in thread.mails}
        for sentence in candidates:
            by_mail[sentence.mail].append(sentence.words)
        words = {number: set().union(*found) for number, found in by_mail.items()}
        self._content = {word for word in set().union(*words.values()) if len(word) > 3} - _STOP
        spread = Counter(chain.from_iterable(map(self._content.intersection, words.values())))
        common = {word for word, count in spread.items() if count > 1}
        self._topic = self._content & ((words[proposal.mail.number] & common) or common)
        self._shared = {word for word in common if spread[word] > 2}
        self._title = self._content.intersection(word_key(thread.root.mail.subject).split())
        self._starts = {id(sentence): _start(sentence) for sentence in candidates}
        self._quoted = _quoted_starts(thread, set(self._starts.values()))

    def amounts(self, sentence: OwnSentence) -> dict[str, float]:
        """Return the features that a sentence has by degree."""
        content = self._content & sentence.words
        topic = len(content & self._topic)
        found = {
            "topic words": min(1.0, topic / 5),
            "density": topic / (len(content) + 3),
            "shared words": min(1.0, len(content & self._shared) / 8),
            "title words": min(1.0, len(content & self._title) / 3),
        }
        requoted = self._quoted[self._starts[id(sentence)]]
        return {**found, "requoted": min(2.0, requoted)} if requoted else found


def _approves(mail: LinkedMail) -> bool:
    """Return whether the mail consents somewhere, so that its requests are wishes."""
    return mail.has(APPROVES) or any("-by: " in sentence.folded for sentence in mail.sentences)


def candidates_of(thread: LinkedThread) -> list[OwnSentence]:
    """Return each mail's first and last sentences, which include 98 of 100 labeled ones."""
    return [
        sentence
        for mail in thread.mails
        for sentence in mail.sentences
        if sentence.index < _FIRST or sentence.index >= len(mail.sentences) - _LAST
    ]


@cache
def _of_place(
    index: int, size: int, *, is_last: bool, opens_paragraph: bool, is_under_quote: bool
) -> tuple[str, ...]:
    flags = {
        "first": index == 0,
        "second": index == 1,
        "last of its mail": is_last,
        "deep in its mail": index >= _DEEP,
        "early": index < 5,
        "paragraph start": opens_paragraph,
        "under a quote": is_under_quote,
        "short": size < 2,
        "tiny": size < 1,
        "long": size > 4,
        "middling": size == 3,
    }
    return tuple(name for name, flag in flags.items() if flag)


def _of_form(folded: str) -> Iterator[str]:
    if folded.endswith((".", "!")):
        yield "ends in a full stop"
    elif folded.endswith(":"):
        yield "ends in colon"
    elif folded.endswith(">") and "-by:" in folded:
        yield "trailer"
    if _DIGIT.search(folded):
        yield "names a number"
    if _CODE_MARK.search(folded) and _is_code(folded):
        yield "code or link"
    if folded.lstrip("\"'( ").startswith(_BUT):
        yield "starts with but"


def _is_code(folded: str) -> bool:
    # A single pattern for all of these would be tried at every letter.
    if "::" in folded or "http:" in folded or "https:" in folded or _CODE_START.match(folded):
        return True
    return bool(_CODE_RUN.search(folded)) or ("()" in folded and bool(_CALL.search(folded)))


def _of_wording(sentence: OwnSentence) -> Iterator[str]:
    if sentence.asks:
        yield "asks"
        if _QUESTION_WORD.match(sentence.folded):
            yield "asks openly"
    if asks_group(sentence):
        yield "asks the group"
    if _APPROVAL.finds(sentence):
        yield "approves"
    if not _YOU.isdisjoint(sentence.words):
        yield "you"
    yield from (_WORDED[cue] for cue in _WORDINGS.triggered(sentence) if cue.finds(sentence))


def _start(sentence: OwnSentence) -> tuple[str, ...]:
    return tuple(sentence.key.split(" ", _SHINGLE)[:_SHINGLE])


def _quoted_starts(thread: LinkedThread, starts: set[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """Count how often each of these word runs is in a quote."""
    runs = chain.from_iterable(
        zip(*(words[shift:] for shift in range(_SHINGLE)), strict=False) for words in _quoted_words(thread)
    )
    return Counter(filter(starts.__contains__, runs))


def _quoted_words(thread: LinkedThread) -> Iterator[list[str]]:
    """Yield the words of each quoted block, up to a bound for all blocks."""
    left = _MAX_ALL_QUOTED
    for mail in thread.mails:
        for block in mail.mail.quotes[:12]:
            words = word_key(block.text[-_MAX_QUOTED:]).split()[:left]
            left -= len(words)
            yield words
            if not left:
                return


def _times(row: _Row, amount: float) -> _Row:
    point, decision, objection, still_open = row
    return point * amount, decision * amount, objection * amount, still_open * amount


MOST_MAILS = {Head.POINT: 12, Head.DECISION: 4, Head.OBJECTION: 4, Head.OPEN_ISSUE: 2}
MOST_SHOWN = 12
"""The most sentences of one thread that a page shows."""
_PER_MAIL = 4
_PER_PERSON = 6
"""The most of one person before others have theirs, so that a frequent writer displaces nobody."""
_MOST_SCORED = 6_000
"""The most sentences that are scored. A longer thread is read from both ends."""
_HOUSEKEEPING = cues.Cue("rebased|rebasing|resent|resending")
"""Changes to a person's own branch settle nothing."""
_MACHINE_WORDS = ("traceback ", 'file "', ">>>", "$ ")


def may_be(head: Head, sentence: OwnSentence, thread: LinkedThread, proposal: Proposal) -> bool:
    """Return whether a sentence may have this head, whatever its score."""
    if head is Head.OBJECTION:
        return thread.mail_of(sentence).person not in proposal.proposers
    if head is Head.OPEN_ISSUE:
        return sentence.mail not in thread.answered_by_others and _may_be_open(sentence)
    if head is Head.DECISION:
        # A patch's log message tells what was done before, not what is decided here.
        reports_past = thread.mail_of(sentence).is_patch or _HOUSEKEEPING.finds(sentence)
        return not sentence.asks and not reports_past
    return not is_noise(sentence)


_NOISE = re.compile(
    r"^\W{0,4}(?:from|date|sent|subject|to|cc|message-id|signed-off-by|reported-by|suggested-by|fixes|link|"
    r"url|name|type|size|desc|content-\w+|change-id|x-\w+):\s|\bscrubbed\b|\bnext part\b|\b(?:non-text|"
    r"html) attachment\b|^\W{0,4}(?:hi|hello|hey|dear|good (?:morning|afternoon|"
    r"evening))(?: [\w.'-]+){0,4}[,.!: -]*$|^\W{0,4}(?:cheers|regards|best regards|kind regards|best wishes|"
    r"sincerely|ciao|br|mvh|hth|yours)(?: (?:again|all|truly|sincerely))?[,.!: -]*(?:[\w.'-]+ ?){0,3}\W*$|"
    r"[-_=*~]{10,}|\b\d+ files? changed\b|\b\d+ insertions?\(\+\)|^\S+ +\| +\d+ [+-]*|^ ?(?:create|"
    r"delete) mode \d|^\W{0,4}sent from my \w|\bget your (?:free|private)\b|\bdo you yahoo\b|"
    r"\bmsn (?:hotmail|messenger|search)\b|\b(?:un)?subscribe\b.{0,40}(?:https?:|mailto:|@)|"
    r"\bconfidential\w* .{0,80}\b(?:recipient|disclos|privileged)|\bintended (?:solely|"
    r"only)? ?(?:for )?(?:the )?(?:recipient|addressee|use)\b|^\W{0,4}(?:https?://|www\.)\S+\W*$|"
    r"^\W{0,4}(?:tel|phone|fax|mobile|cell)\.?:? ?[\d+(]|^\W*(?:index|diff|range-diff|base-commit|"
    r"prerequisite-patch-id|interdiff)\b[: ]|^[0-9a-f]{12,40}\W|"
    r"^\W{0,4}(?:on .{4,60} )?[\w .@<>-]{2,60} (?:wrote|writes):?\W*$"
)
"""Heads of patches, notices of attachments, advertisements, signatures, greetings and statistics."""


def is_noise(sentence: OwnSentence) -> bool:
    """Return whether the sentence says nothing, so that it is no key point."""
    return bool(_NOISE.search(sentence.folded))


def _may_be_open(sentence: OwnSentence) -> bool:
    if sentence.folded.startswith(_MACHINE_WORDS):
        return False
    return sentence.asks or cues.OPEN.finds(sentence) or DOUBTS.finds(sentence)


class SentenceScores:
    def __init__(self, thread: LinkedThread, proposal: Proposal, genre: Genre) -> None:
        self._thread, self._proposal = thread, proposal
        reader = FeatureReader(thread, proposal, genre)
        self._sentences = _bounded(candidates_of(thread))
        self._scores = {id(sentence): reader.scores(sentence) for sentence in self._sentences}

    def score(self, sentence: OwnSentence, head: Head) -> float:
        found = self._scores.get(id(sentence))
        return found[_COLUMNS[head]] if found else float("-inf")

    def best_of(self, mail: LinkedMail) -> OwnSentence | None:
        scored = (sentence for sentence in mail.sentences if id(sentence) in self._scores)
        best_first = sorted(scored, key=lambda sentence: (-self._scores[id(sentence)][0], sentence.index))
        return next((sentence for sentence in best_first if not is_noise(sentence)), None)

    def found(
        self, head: Head, besides: Iterable[OwnSentence] = (), *, without: Collection[int] = ()
    ) -> list[OwnSentence]:
        """Return the best sentence of each of the best mails, in the order of the thread.

        `besides` always count. `without` are the numbers of mails that have none.
        """
        threshold, column = THRESHOLDS[head], _COLUMNS[head]
        chosen = [
            sentence
            for sentence in self._sentences
            if self._scores[id(sentence)][column] > threshold
            and sentence.mail not in without
            and may_be(head, sentence, self._thread, self._proposal)
        ]
        besides = list(besides)
        ranked = [*besides, *sorted(chosen, key=lambda sentence: -self._scores[id(sentence)][column])]
        best: dict[int, OwnSentence] = {}
        keys: set[tuple[str, str]] = set()
        firm = {id(sentence) for sentence in besides}
        for sentence in ranked:
            # The next version of a text repeats its sentences, so equal sentences count once. A sentence with
            # a stated position belongs to its person, whoever else writes the same.
            key = (self._thread.mail_of(sentence).person if id(sentence) in firm else "", sentence.key)
            if sentence.mail not in best and key not in keys:
                best[sentence.mail] = sentence
                keys |= {key, ("", sentence.key)}
        kept = list(best.values())[: MOST_MAILS[head]]
        return sorted(kept, key=lambda sentence: (sentence.mail, sentence.index))

    def points(self, already: Sequence[OwnSentence]) -> list[OwnSentence]:
        """Return the best other sentences, so that a page shows at most MOST_SHOWN."""
        shown_ids = {id(sentence) for sentence in already}
        shown_keys = {(self._person(sentence), sentence.key) for sentence in already}
        of_mail, of_person = Counter[int](), Counter[str](self._person(sentence) for sentence in already)
        limit = max(MOST_SHOWN - len(shown_ids), 0)
        first: list[OwnSentence] = []
        rest: list[OwnSentence] = []
        for sentence in sorted(self._sentences, key=lambda sentence: -self._scores[id(sentence)][0]):
            person = self._person(sentence)
            if id(sentence) in shown_ids or (person, sentence.key) in shown_keys:
                continue
            if of_mail[sentence.mail] >= _PER_MAIL:
                continue
            if not may_be(Head.POINT, sentence, self._thread, self._proposal):
                continue
            shown_keys.add((person, sentence.key))
            of_mail[sentence.mail] += 1
            of_person[person] += 1
            (first if of_person[person] <= _PER_PERSON else rest).append(sentence)
            if len(first) >= limit:
                break
        return sorted([*first, *rest][:limit], key=lambda sentence: (sentence.mail, sentence.index))

    def _person(self, sentence: OwnSentence) -> str:
        return self._thread.mail_of(sentence).person


def _bounded(sentences: list[OwnSentence]) -> list[OwnSentence]:
    if len(sentences) <= _MOST_SCORED:
        return sentences
    half = _MOST_SCORED // 2
    return sentences[:half] + sentences[-half:]
