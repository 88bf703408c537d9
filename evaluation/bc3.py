"""Score summaries against BC3: `python -m evaluation.bc3`.

F1 compares the sentences that a summary shows, chosen by the reader that ships, with the sentences of each
annotator. It is averaged over annotators and threads. Quoted lines are never candidates.

Citation recall@3 looks at each sentence of a human summary. It asks whether one of the messages that the
sentence links to is among the three messages whose best sentence is most similar (tf-idf of the words).
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from evaluation.bc3_corpus import Bc3Sentence, Bc3Thread, read_bc3
from evaluation.data import MissingDataError, corpus_files
from evaluation.scores import set_f1
from evaluation.tfidf import tfidf
from shared.models.values import SentenceCitation, ThreadReading, Tier
from shared.reading.mails import ThreadMail
from shared.reading.reader import read_thread

WORD_BUDGET = 0.3
"""The thread's words, for the baseline."""
_NEAREST = 3


def shown_f1(threads: Sequence[Bc3Thread]) -> float:
    return _mean_f1(threads, _shown)


def first_sentences_f1(threads: Sequence[Bc3Thread]) -> float:
    """Score the baseline: the first sentence of each message, then the second of each, up to the budget."""
    return _mean_f1(threads, _first_sentences)


def human_f1(threads: Sequence[Bc3Thread]) -> float:
    pairs = [
        set_f1(picks, other)
        for thread in threads
        for number, picks in enumerate(thread.picks)
        for other in thread.picks[number + 1 :]
    ]
    return float(np.mean(pairs))


def citation_recall(threads: Sequence[Bc3Thread], nearest: int = _NEAREST) -> float:
    return float(np.mean([hit for thread in threads for hit in _citation_hits(thread, nearest)]))


def _mean_f1(threads: Sequence[Bc3Thread], chosen: Callable[[Bc3Thread], set[str]]) -> float:
    scores = []
    for thread in threads:
        ids = chosen(thread)
        scores += [set_f1(ids, pick) for pick in thread.picks]
    return float(np.mean(scores))


def _own(thread: Bc3Thread) -> list[Bc3Sentence]:
    return [sentence for sentence in thread.sentences if not sentence.is_quoted]


def _shown(thread: Bc3Thread) -> set[str]:
    """Return the corpus's sentences that are shown by more than half."""
    reading = read_thread([_mail(thread, number) for number in range(len(thread.senders))])
    chosen = set()
    for citation in _sentences(reading):
        for sentence, start, end in _spans(thread, int(citation.message_id)):
            common = min(citation.end, end) - max(citation.start, start)
            if 2 * common > end - start:
                chosen.add(sentence.id)
    return chosen


def _sentences(reading: ThreadReading) -> Iterator[SentenceCitation]:
    yield from (position.citation for position in reading.positions if position.tier is Tier.SAID)
    yield from (decision.citation for decision in reading.decisions)
    yield from (objection.citation for objection in reading.objections)
    yield from (*reading.open_issues, *reading.key_points)


def _mail(thread: Bc3Thread, number: int) -> ThreadMail:
    sender = thread.senders[number]
    return ThreadMail(
        message_id=str(number),
        address=f"{'.'.join(sender.lower().split())}@bc3.invalid",
        name=sender,
        subject=thread.subject if number == 0 else f"Re: {thread.subject}",
        text="\n".join(sentence.text for sentence, _, _ in _spans(thread, number)),
        reply_to="0" if number else None,
    )


def _spans(thread: Bc3Thread, number: int) -> Iterator[tuple[Bc3Sentence, int, int]]:
    """Return the spans of the message's own sentences in its text, one line each."""
    start = 0
    for sentence in _own(thread):
        if sentence.message == number:
            yield sentence, start, start + len(sentence.text)
            start += len(sentence.text) + 1


def _first_sentences(thread: Bc3Thread) -> set[str]:
    position: dict[int, int] = {}
    order = []
    for sentence in thread.sentences:
        position[sentence.message] = position.get(sentence.message, -1) + 1
        order.append((position[sentence.message], sentence))
    left, chosen = WORD_BUDGET * sum(sentence.words for sentence in thread.sentences), set()
    for _, sentence in sorted(order, key=lambda item: item[0]):
        if sentence.words <= left:
            chosen.add(sentence.id)
            left -= sentence.words
    return chosen


def _citation_hits(thread: Bc3Thread, nearest: int) -> list[bool]:
    own, summaries = _own(thread), thread.summaries
    rows = tfidf([*(sentence.text for sentence in own), *(text for text, _ in summaries)])
    likeness = rows[len(own) :] @ rows[: len(own)].T
    messages = np.array([sentence.message for sentence in own])
    hits = []
    for row, (_, linked) in zip(likeness, summaries, strict=True):
        best = {int(message): float(row[messages == message].max()) for message in np.unique(messages)}
        closest = sorted(best, key=lambda message: -best[message])[:nearest]
        hits.append(bool(linked & set(closest)))
    return hits


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.bc3", description=__doc__)
    parser.add_argument("--corpus", nargs="*", type=Path, help="default: bc3/corpus*.xml of the corpora")
    parser.add_argument(
        "--annotation", nargs="*", type=Path, help="default: bc3/annotation*.xml of the corpora"
    )
    options = parser.parse_args(arguments)
    try:
        corpora = options.corpus or corpus_files("bc3/corpus*.xml")
        annotations = options.annotation or corpus_files("bc3/annotation*.xml")
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    threads = read_bc3(corpora, annotations)
    print(f"{len(threads)} threads, {sum(len(thread.sentences) for thread in threads)} sentences")
    print(f"annotators against each other      F1 {human_f1(threads):.3f}")
    print(f"sentences that a summary shows     F1 {shown_f1(threads):.3f}")
    print(f"first sentences of each mail       F1 {first_sentences_f1(threads):.3f}")
    print(f"message-level citation recall@{_NEAREST}       {citation_recall(threads):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
