"""Measure which lies under true quotes pass the checks: `python -m evaluation.lies`.

Each lie is one change, drawn by seed, to the answer of a perfect reader (the labels). A lie counts as shown
if the stored reading contains it. Structural lies must never be shown, and a stance that contradicts explicit
words only seldom. A stance that follows from an argument cannot be checked against words. It is stored and
labeled as the model's reading.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from evaluation.consensus_corpus import LabelledThread, read_corpus
from evaluation.data import MissingDataError, corpus_files
from evaluation.label_answers import answer_of
from shared.model_reading.answer import parse_answer
from shared.model_reading.combined import ModelRun, combine
from shared.models.values import ThreadReading, Tier
from shared.reading.linked_thread import LinkedThread, display_name
from shared.reading.mails import word_key
from shared.reading.reader import read_thread

Answer = dict[str, Any]
_OTHER_STANCE = {"support": "oppose", "oppose": "support"}
_OTHER_END = {
    "accepted": "rejected", "revised": "rejected", "rejected": "accepted", "contested": "accepted",
    "unresolved": "accepted", "answered": "accepted", "unanswered": "accepted", "informational": "accepted",
}  # fmt: skip
_NEGATION = re.compile(
    r"\b(?:do not|don't|does not|doesn't|did not|cannot|can't|would not|wouldn't|not|never|no longer)\s+",
    re.IGNORECASE,
)
_FEW_WORDS, _SOME_WORDS = 3, 5
_READ_AT = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Case:
    """A thread, its perfect answer, and the rules' claims."""

    labelled: LabelledThread
    thread: LinkedThread
    rules: ThreadReading
    answer: Answer


@dataclass(frozen=True)
class Lie:
    kind: str
    answer: Answer
    is_shown: Callable[[ThreadReading], bool]
    is_labelled: Callable[[ThreadReading], bool] = lambda _: True
    """Whether a shown lie is labeled as the model's reading."""


def cases() -> Iterator[Case]:
    for labels in corpus_files("c*/labels.json"):
        for labelled in read_corpus(labels.parent):
            thread = LinkedThread(labelled.mails, labelled.profile)
            rules = read_thread(labelled.mails, labelled.profile)
            yield Case(labelled, thread, rules, answer_of(labelled, thread))


def read_lie(case: Case, lie: Lie) -> ThreadReading:
    answer = parse_answer(json.dumps(lie.answer))
    run = ModelRun("liar", _READ_AT)
    return combine(case.thread, case.labelled.mails[0].subject, case.rules, answer, run)


def lies(case: Case, draw: random.Random) -> Iterator[Lie]:
    for kind in (_flipped, _swapped, _cut, _merged, _invented_end, _ending_without_words, _sentences):
        yield from kind(case, draw)


def _voices(case: Case) -> list[Answer]:
    return [position for position in case.answer["positions"] if position["stance"] in _OTHER_STANCE]


def _with_position(case: Case, old: Answer, new: Answer) -> Answer:
    answer = deepcopy(case.answer)
    answer["positions"] = [new if position == old else position for position in answer["positions"]]
    return answer


def _address(case: Case, mail: int) -> str:
    return case.thread.mails[mail - 1].mail.address.lower()


def _stands(address: str, stance: str) -> Callable[[ThreadReading], bool]:
    return lambda reading: any(
        position.person == address and position.stance.value == stance and position.tier is Tier.SAID
        for position in reading.positions
    )


def _is_reading(address: str) -> Callable[[ThreadReading], bool]:
    return lambda reading: all(
        not position.is_explicit for position in reading.positions if position.person == address
    )


def _flipped(case: Case, _: random.Random) -> Iterator[Lie]:
    for voice in _voices(case):
        stance, address = _OTHER_STANCE[voice["stance"]], _address(case, voice["mail"])
        kind = "stance flipped, explicit words" if voice["explicit"] else "stance flipped, by argument"
        lie = _with_position(case, voice, {**voice, "stance": stance})
        yield Lie(kind, lie, _stands(address, stance), _is_reading(address))


def _swapped(case: Case, draw: random.Random) -> Iterator[Lie]:
    """Return the position with the words of another person."""
    numbers = {mail.person: number + 1 for number, mail in enumerate(case.thread.mails)}
    for voice in _voices(case):
        own = case.thread.mails[voice["mail"] - 1].person
        others = sorted(set(numbers) - {own})
        holders = {_address(case, position["mail"]) for position in case.answer["positions"]}
        if not others:
            continue
        other = draw.choice(others)
        address = _address(case, numbers[other])
        if address in holders or _stands(address, voice["stance"])(case.rules):
            continue
        person = f"p{list(dict.fromkeys(mail.person for mail in case.thread.mails)).index(other) + 1}"
        lie = _with_position(case, voice, {**voice, "person": person})
        yield Lie("speaker swapped", lie, _stands(address, voice["stance"]))


def _cut(case: Case, _: random.Random) -> Iterator[Lie]:
    """Return the words after a negation, under the opposite stance."""
    for mail in case.thread.mails:
        for sentence in mail.sentences:
            found = _NEGATION.search(sentence.text)
            rest = sentence.text[found.end() :] if found else ""
            if (
                found is None
                or len(rest.split()) < _FEW_WORDS
                or not re.search(r"\b(?:support|agree|like|favou?r)", rest[:40])
            ):
                continue
            person = (
                f"p{list(dict.fromkeys(other.person for other in case.thread.mails)).index(mail.person) + 1}"
            )
            claim = {
                "person": person,
                "stance": "support",
                "explicit": True,
                "mail": mail.number + 1,
                "quote": rest,
            }
            answer = deepcopy(case.answer)
            answer["positions"] = [
                position for position in answer["positions"] if position["mail"] != mail.number + 1
            ] + [claim]
            is_shown = _stands(mail.mail.address.lower(), "support")
            if not is_shown(case.rules) and not any(
                position["stance"] == "support"
                and _address(case, position["mail"]) == mail.mail.address.lower()
                for position in case.answer["positions"]
            ):
                yield Lie("negation cut off", answer, is_shown)


def _merged(case: Case, draw: random.Random) -> Iterator[Lie]:
    """Return two halves of different sentences as one quote."""
    for voice in _voices(case)[:2]:
        sentences = [
            sentence
            for sentence in case.thread.mails[voice["mail"] - 1].sentences
            if len(sentence.text.split()) > _SOME_WORDS
        ]
        if len(sentences) <= 1:
            continue
        first, second = draw.sample(sentences, 2)
        joined = " ".join([*first.text.split()[:4], *second.text.split()[-4:]])
        stance = _OTHER_STANCE[voice["stance"]]
        lie = _with_position(case, voice, {**voice, "quote": joined, "stance": stance})
        yield Lie("quotes merged", lie, _stands(_address(case, voice["mail"]), stance))


def _ends(kind: str) -> Callable[[ThreadReading], bool]:
    return lambda reading: reading.outcome.kind.value == kind and reading.outcome.tier is Tier.SAID


def _invented_end(case: Case, _: random.Random) -> Iterator[Lie]:
    """Return another outcome under the true quotes."""
    answer, kind = deepcopy(case.answer), _OTHER_END[case.answer["outcome"]["kind"]]
    answer["outcome"]["kind"] = kind
    is_labelled = lambda reading: reading.outcome.read_by.value == "model"  # noqa: E731
    yield Lie("outcome changed under true quotes", answer, _ends(kind), is_labelled)


def _ending_without_words(case: Case, _: random.Random) -> Iterator[Lie]:
    kind = _OTHER_END[case.answer["outcome"]["kind"]]
    for evidence in ([], [{"mail": 1, "quote": "we hereby declare that this was decided by all"}]):
        answer = deepcopy(case.answer)
        answer["outcome"] = {"kind": kind, "text": "It was decided.", "evidence": evidence}
        yield Lie("outcome without evidence", answer, _ends(kind))


def _sentences(case: Case, draw: random.Random) -> Iterator[Lie]:
    """Return sentences in the model's words, each with one claim that its evidence does not show."""
    quotes = case.answer["key_points"]
    if not quotes:
        return
    quote = draw.choice(quotes)
    mail = case.thread.mails[quote["mail"] - 1]
    writer = display_name(mail.mail.name, mail.mail.address)
    near = [mail.number] if mail.parent is None else [mail.number, mail.parent]
    cited = word_key(" ".join(f"{case.thread.mails[n].mail.name} {case.thread.mails[n].words}" for n in near))
    names = sorted({display_name(mail.mail.name, mail.mail.address) for mail in case.thread.mails})
    others = [name for name in names if word_key(name) not in cited]
    texts = [
        ("number invented", f"{writer} reported {draw.randrange(130, 990)} cases of it."),
        ("date invented", f"{writer} wrote this on {draw.randrange(1, 28)} March 1987."),
        ("name invented", f"Zacharias Quux wrote this, as {writer} did."),
    ]
    if others:
        texts.append(("name swapped", f"{draw.choice(others)} explained this to the list."))
    for kind, text in texts:
        answer = deepcopy(case.answer)
        answer["summary"] = [{"text": text, "evidence": [quote]}]
        yield Lie(kind, answer, _narrates(text), _is_inferred(text))
    for voice in _voices(case):
        if voice["explicit"]:
            name = display_name(case.thread.mails[voice["mail"] - 1].mail.name, _address(case, voice["mail"]))
            verb = "opposes" if voice["stance"] == "support" else "supports"
            text = f"{name} {verb} it."
            answer = deepcopy(case.answer)
            answer["summary"] = [
                {"text": text, "evidence": [{"mail": voice["mail"], "quote": voice["quote"]}]}
            ]
            yield Lie("false claim over a true quote", answer, _narrates(text), _is_inferred(text))


def _is_inferred(text: str) -> Callable[[ThreadReading], bool]:
    return lambda reading: (
        reading.model is not None
        and all(not sentence.is_borne for sentence in reading.model.narrative if sentence.text == text)
    )


def _narrates(text: str) -> Callable[[ThreadReading], bool]:
    return lambda reading: (
        reading.model is not None and any(sentence.text == text for sentence in reading.model.narrative)
    )


def _draw(seed: int, case: Case) -> random.Random:
    return random.Random(f"{seed} {case.labelled.label['thread']}")  # noqa: S311 - a reproducible draw


def tell(seeds: Sequence[int], every: int = 1) -> dict[str, Counter[str]]:
    """Count the lies of each kind that were tried, shown, and shown without a label, for every nth thread."""
    counts: dict[str, Counter[str]] = {}
    for case in islice(cases(), 0, None, every):
        for seed in seeds:
            for lie in lies(case, _draw(seed, case)):
                reading = read_lie(case, lie)
                shown = lie.is_shown(reading)
                unlabelled = shown and not lie.is_labelled(reading)
                counts.setdefault(lie.kind, Counter()).update(told=1, shown=shown, unlabelled=unlabelled)
    return counts


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.lies", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="how many draws for each thread")
    options = parser.parse_args(arguments)
    try:
        counts = tell(range(options.seeds))
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    for kind, count in sorted(counts.items()):
        share = count["shown"] / count["told"]
        print(
            f"{kind:36} told {count['told']:5}  shown {count['shown']:4} ({share:.1%})  "
            f"unlabelled {count['unlabelled']}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
