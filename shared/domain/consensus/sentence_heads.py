"""Which sentences carry a key point, a decision, an objection or an open issue: fitted weights and few rules.

Rules alone carried over worse than weights here. What a head finds is shown as a quote, never as a claim.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from shared.documents.values import Genre
from shared.domain.consensus.cues import OPEN, Cue
from shared.domain.consensus.doubt_cues import DOUBTS
from shared.domain.consensus.linked_thread import LinkedThread
from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.proposition import Put
from shared.domain.consensus.sentence_features import FeatureReader, candidates_of
from shared.domain.consensus.sentence_kinds import Head
from shared.domain.consensus.sentence_scorer import SentenceScorer
from shared.domain.consensus.sentence_weights import THRESHOLDS

MOST_MAILS = {Head.POINT: 12, Head.DECISION: 4, Head.OBJECTION: 4, Head.OPEN_ISSUE: 2}
MOST_SHOWN = 12
"""Sentences that a page shows of one thread, in all."""
_PER_MAIL = 4
_MOST_SCORED = 6_000
"""Sentences of one thread that are scored; a longer thread is read from both ends."""
_HOUSEKEEPING = Cue("rebased|rebasing|resent|resending")
"""What somebody did with their own branch settles nothing."""
_MACHINE_WORDS = ("traceback ", 'file "', ">>>", "$ ")
_COLUMNS = {head: column for column, head in enumerate(Head)}


def may_be(head: Head, sentence: OwnSentence, thread: LinkedThread, put: Put) -> bool:
    """What a sentence cannot be, whatever its score."""
    if head is Head.OBJECTION:
        return thread.mail_of(sentence).person not in put.proposers
    if head is Head.OPEN_ISSUE:
        return sentence.mail not in thread.answered_by_others and _may_be_open(sentence)
    if head is Head.DECISION:
        # A patch's log message tells what was done before, not what is decided here.
        told = thread.mail_of(sentence).is_patch or _HOUSEKEEPING.finds(sentence)
        return not sentence.asks and not told
    return True


def _may_be_open(sentence: OwnSentence) -> bool:
    if sentence.folded.startswith(_MACHINE_WORDS):
        return False
    return sentence.asks or OPEN.finds(sentence) or DOUBTS.finds(sentence)


class SentenceScores:
    def __init__(self, thread: LinkedThread, put: Put, genre: Genre) -> None:
        self._thread, self._put = thread, put
        scorer = SentenceScorer(FeatureReader(thread, put, genre))
        self._sentences = _bounded(candidates_of(thread))
        self._scores = {id(sentence): scorer.scores(sentence) for sentence in self._sentences}

    def score(self, sentence: OwnSentence, head: Head) -> float:
        found = self._scores.get(id(sentence))
        return found[_COLUMNS[head]] if found else float("-inf")

    def found(
        self, head: Head, besides: Iterable[OwnSentence] = (), *, without: Collection[int] = ()
    ) -> list[OwnSentence]:
        """The best sentence of each of the best mails, in the order of the thread.

        `besides` always count; `without` are numbers of mails that have none.
        """
        column, threshold = _COLUMNS[head], THRESHOLDS[head]
        chosen = [
            one
            for one in self._sentences
            if self._scores[id(one)][column] > threshold
            and one.mail not in without
            and may_be(head, one, self._thread, self._put)
        ]
        ranked = [*besides, *sorted(chosen, key=lambda one: -self._scores[id(one)][column])]
        best: dict[int, OwnSentence] = {}
        keys: set[str] = set()
        for sentence in ranked:
            # Who sends the next version of a text repeats what stands in it.
            if sentence.mail not in best and sentence.key not in keys:
                best[sentence.mail] = sentence
                keys.add(sentence.key)
        kept = list(best.values())[: MOST_MAILS[head]]
        return sorted(kept, key=lambda one: (one.mail, one.index))

    def points(self, already: Sequence[OwnSentence]) -> list[OwnSentence]:
        """The best of the rest, so that with what is shown anyway no more than MOST_SHOWN are."""
        shown = {id(one) for one in already}
        room = MOST_SHOWN - len(shown)
        per_mail: Counter[int] = Counter()
        points: list[OwnSentence] = []
        for sentence in sorted(self._sentences, key=lambda one: -self._scores[id(one)][0]):
            if len(points) >= room:
                break
            if id(sentence) in shown or per_mail[sentence.mail] >= _PER_MAIL:
                continue
            per_mail[sentence.mail] += 1
            points.append(sentence)
        return sorted(points, key=lambda one: (one.mail, one.index))


def _bounded(sentences: list[OwnSentence]) -> list[OwnSentence]:
    if len(sentences) <= _MOST_SCORED:
        return sentences
    half = _MOST_SCORED // 2
    return sentences[:half] + sentences[-half:]
