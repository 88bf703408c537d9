"""Compare the reader's wordings with LEDA's dialogue acts: `python -m evaluation.leda [file ...]`.

Nothing is trained: a segment performs an act if the wordings that ship match in the segment. LEDA's acts are
not the reader's positions (agreement with any remark counts), so the figures show how well wordings alone
carry over to unseen mail.
"""

import argparse
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.data import MissingDataError, corpus_files
from evaluation.leda_corpus import LedaSegment, read_leda
from evaluation.scores import Score, score
from shared.models.values import SourceProfile
from shared.reading.closings import RULES
from shared.reading.cues import ACCEPTS, PROMISES, PROPOSES
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import OwnSentence, ThreadMail
from shared.reading.stance_cues import DOUBTS, OPPOSES
from shared.reading.stances import cue_of, kind_of_support, takes_nothing_back


class Act(StrEnum):
    """The labels of LEDA that matter for consensus."""

    AGREEMENT = "Agreement"
    DISAGREEMENT = "Disagreement"
    DECISION = "StateDecision"
    PROPOSAL = "ProposeAction"


def acts_of(text: str) -> set[Act]:
    """Return the acts that the reader's wordings find in a segment. A segment can have several."""
    mail = ThreadMail(message_id="<segment>", address="someone@list.example", text=text)
    thread = LinkedThread([mail], SourceProfile())
    return {
        act
        for act, finds in _FINDERS.items()
        if any(finds(thread, sentence) for sentence in thread.sentences())
    }


def _agrees(thread: LinkedThread, sentence: OwnSentence) -> bool:
    return kind_of_support(sentence) is not None and takes_nothing_back(thread, sentence, cue_of(sentence))


def _disagrees(_: LinkedThread, sentence: OwnSentence) -> bool:
    return OPPOSES.finds(sentence) or DOUBTS.finds(sentence)


def _decides(_: LinkedThread, sentence: OwnSentence) -> bool:
    settles = RULES.finds(sentence) or ACCEPTS.finds(sentence) or PROMISES.finds(sentence)
    return settles and not sentence.asks


def _proposes(_: LinkedThread, sentence: OwnSentence) -> bool:
    return PROPOSES.finds(sentence)


_FINDERS: dict[Act, Callable[[LinkedThread, OwnSentence], bool]] = {
    Act.AGREEMENT: _agrees,
    Act.DISAGREEMENT: _disagrees,
    Act.DECISION: _decides,
    Act.PROPOSAL: _proposes,
}


def labels_of(segments: list[LedaSegment], act: Act) -> NDArray[np.bool_]:
    return np.array([act.value in segment.labels for segment in segments])


def scored(segments: list[LedaSegment]) -> dict[Act, Score]:
    found = [acts_of(segment.text) for segment in segments]
    return {act: score(labels_of(segments, act), np.array([act in acts for acts in found])) for act in Act}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.leda", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="LEDA files (default: leda/*.json of the corpora)"
    )
    options = parser.parse_args(arguments)
    try:
        segments = read_leda(options.files or corpus_files("leda/*.json"))
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(segments)} segments")
    for act, found in scored(segments).items():
        print(f"{act:14} {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
