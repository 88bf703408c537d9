"""Score the checks of the chat model on recorded answers and lies: `python -m evaluation.checks`.

The answers come from a strong reader who saw the prompts alone, without the labels. The lies are about the
same threads. Quotes are stored as places in the mail, because the mail is not part of the project. The
command prints the labels' measures of the raw answers and of the stored readings, the claims that are refused
and marked, and the outcome of each lie.
"""

import argparse
import gzip
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation.consensus import prediction_of, score_corpus
from evaluation.consensus_corpus import LabelledThread, read_corpus, thread_mail_of
from evaluation.consensus_scores import figures
from evaluation.data import MissingDataError, corpus_files
from shared.mail.models import Skipped
from shared.mail.parse import parse_archive
from shared.model_reading.answer import ClaimedQuote, ClaimedSentence, parse_answer
from shared.model_reading.combined import ModelRun, combine
from shared.model_reading.evidence import locate
from shared.model_reading.narrated import judge
from shared.model_reading.numbered import number_thread
from shared.models.values import ReadBy, SourceProfile, ThreadReading, Tier
from shared.reading.linked_thread import LinkedThread
from shared.reading.mails import ThreadMail
from shared.reading.reader import read_thread

Row = dict[str, Any]
RECORDED = Path(__file__).with_name("recorded")
_RUN = ModelRun("recorded", datetime(2024, 1, 1, tzinfo=UTC))
_WINDOW = 12_000
_MEASURES = (
    "genre accuracy", "outcome accuracy", "consensus_type accuracy", "has_consensus", "positions", "support",
    "oppose", "objections (message)", "decisions (message)", "open issues (message)", "positions inverted",
    "positions invented", "proposer counted", "key points: sentence shown",
)  # fmt: skip
_SIDES = frozenset({"support", "oppose"})


@dataclass(frozen=True)
class Case:
    """A thread with its recorded answer. The places in it are quotes again."""

    labelled: LabelledThread
    thread: LinkedThread
    rules: ThreadReading
    part: str
    prompt: str
    answer: Row

    def read(self, answer: Row | None = None) -> ThreadReading:
        given = parse_answer(json.dumps(answer if answer is not None else self.answer))
        return combine(self.thread, self.labelled.mails[0].subject, self.rules, given, _RUN)

    @property
    def is_of_this_prompt(self) -> bool:
        (part,) = number_thread(self.thread, self.labelled.mails[0].subject, room=_WINDOW).parts
        return prompt_key(part.system, part.user) == self.prompt

    def address(self, claim: Row) -> str:
        return self.thread.mails[int(claim["mail"]) - 1].mail.address.lower()


def prompt_key(system: str, user: str) -> str:
    return hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()[:20]


def cases(parts: Sequence[str] = ()) -> Iterator[Case]:
    threads = {
        thread.label["thread"]: thread
        for file in corpus_files("c*/labels.json")
        for thread in read_corpus(file.parent)
    }
    for row in _rows("answers"):
        labelled = threads.get(row["thread"])
        if labelled is None or (parts and row["part"] not in parts):
            continue
        thread = LinkedThread(labelled.mails, labelled.profile)
        rules = read_thread(labelled.mails, labelled.profile)
        answer = _with_words(row["answer"], thread)
        yield Case(labelled, thread, rules, row["part"], row["prompt"], answer)


def _rows(name: str) -> list[Row]:
    rows: list[Row] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return rows


def _with_words(value: Any, thread: LinkedThread) -> Any:
    if isinstance(value, list):
        return [_with_words(item, thread) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: _with_words(item, thread) for name, item in value.items() if name != "span"}
    if "span" in value:
        start, end = value["span"]
        made["quote"] = " ".join(thread.mails[value["mail"] - 1].mail.text[start:end].split())
    return made


def raw_prediction(case: Case) -> Row:
    """Return the unchecked claims of the answer in the form that is scored."""
    answer = case.answer

    def cited(claim: Row) -> Row:
        mail = case.thread.mails[claim["mail"] - 1].mail
        return {"message_id": mail.message_id.strip("<>"), "quote": claim["quote"]}

    positions = [
        {"person": case.address(position), "stance": position["stance"], **cited(position)}
        for position in answer["positions"]
    ]
    stances = {position["stance"] for position in positions} - {"proposer"}
    divided = stances & {"oppose", "mixed"}
    kind = "agreement" if answer["has_consensus"] else None
    if kind is None and divided:
        kind = "dissent" if stances == {"oppose"} else "mixed"
    return {
        "thread": case.labelled.label["thread"],
        "genre": answer["genre"],
        "outcome": answer["outcome"]["kind"],
        "has_consensus": answer["has_consensus"],
        "consensus_type": kind,
        "positions": positions,
        "points": [cited(claim) for claim in answer["key_points"]],
        **{
            name: [cited(claim) for claim in answer[name]]
            for name in ("objections", "decisions", "open_issues")
        },
    }


def fates_of_claims(case: Case, reading: ThreadReading) -> Counter[str]:
    """Count the outcomes of the true sentences and of the positions that a quote states."""
    counts: Counter[str] = Counter()
    borne_by_text = (
        {sentence.text: sentence.is_borne for sentence in reading.model.narrative} if reading.model else {}
    )
    for sentence in case.answer["summary"]:
        borne = borne_by_text.get(sentence["text"])
        counts[f"sentence {'refused' if borne is None else 'stated' if borne else 'marked'}"] += 1
    shown = {position.person: position for position in reading.positions}
    for claim in case.answer["positions"]:
        if claim["explicit"] and claim["stance"] in _SIDES:
            position = shown.get(case.address(claim))
            same = position is not None and position.stance.value == claim["stance"]
            fate = "refused" if not same else "stated" if position and position.is_explicit else "marked"
            counts[f"explicit position {fate}"] += 1
    return counts


def told_lie(case: Case, lie: Row) -> Row:
    """Return the honest answer with one false claim."""
    answer = deepcopy(case.answer)
    if "summary" in lie:
        answer["summary"] = [lie["summary"]]
    if claim := lie.get("position"):
        others = [position for position in answer["positions"] if position["person"] != claim["person"]]
        answer["positions"] = [*others, claim]
    if "outcome" in lie:
        answer["outcome"] = lie["outcome"]
    if claim := lie.get("objection"):
        answer["objections"] = [claim]
    if "decision" in lie:
        answer["decisions"] = [lie["decision"]]
    if "has_consensus" in lie:  # and the answer hides the objector
        answer |= {"has_consensus": True, "objections": []}
        answer["positions"] = [
            position for position in answer["positions"] if position["stance"] not in {"oppose", "mixed"}
        ]
        if answer["outcome"]["kind"] in {"contested", "rejected"}:
            answer["outcome"]["kind"] = "unresolved"
    return answer


def fate_of_lie(case: Case, lie: Row) -> str:
    """Return the fate of the lie: refused, marked as the model's reading, shown unmarked, or a rule's own."""
    reading = case.read(told_lie(case, lie))
    if "summary" in lie:
        narrative = reading.model.narrative if reading.model else ()
        found = [sentence.is_borne for sentence in narrative if sentence.text == lie["summary"]["text"]]
        return _fate(is_shown=bool(found), is_marked=not any(found))
    if claim := lie.get("position"):
        matching = [
            position
            for position in reading.positions
            if (position.person, position.stance.value) == (case.address(claim), claim["stance"])
        ]
        by_rules = any(position.read_by is ReadBy.RULES for position in matching)
        return _fate(
            is_shown=bool(matching),
            is_marked=not any(position.is_explicit for position in matching),
            by_rules=by_rules,
        )
    if "outcome" in lie:
        outcome = reading.outcome
        return _fate(
            is_shown=outcome.kind.value == lie["outcome"]["kind"] and outcome.tier is Tier.SAID,
            is_marked=outcome.sentence.endswith("reads it)"),
            by_rules=outcome.read_by is ReadBy.RULES,
        )
    if "has_consensus" in lie:
        return _fate(is_shown=reading.has_consensus, by_rules=case.rules.has_consensus)
    claim = lie.get("objection") or lie["decision"]
    located = locate(case.thread, ClaimedQuote(claim["mail"], claim["quote"]))
    place = located.citation() if located else None
    if "objection" in lie:
        return _fate(
            is_shown=any(
                objection.citation == place and objection.fate.value == claim["fate"]
                for objection in reading.objections
            )
        )
    tiers = [decision.tier for decision in reading.decisions if decision.citation == place]
    return _fate(is_shown=bool(tiers), is_marked=Tier.SAID not in tiers)


def _fate(*, is_shown: bool, is_marked: bool = False, by_rules: bool = False) -> str:
    if not is_shown:
        return "refused"
    return "said by the rules" if by_rules else "marked" if is_marked else "unmarked"


def lies_of(case: Case) -> list[Row]:
    thread = case.labelled.label["thread"]
    return [_with_words(row, case.thread) for row in _rows("lies") if row["thread"] == thread]


def paraphrases() -> Counter[str]:
    """Count the outcomes of paraphrases, and of lies, about threads without an answer.

    The checks were developed on these threads.
    """
    counts: Counter[str] = Counter()
    for row, thread in _paraphrased():
        for sentence in row["sentences"]:
            evidence = tuple(ClaimedQuote(**quote) for quote in _with_words(sentence["evidence"], thread))
            judged = judge(thread, ClaimedSentence(sentence["text"], evidence), thread.root.mail.subject)
            fate = "refused" if judged.refused else "marked" if judged.marked else "stated"
            counts[f"{'lie' if 'lie' in sentence else 'sentence'} {fate}"] += 1
    return counts


def _paraphrased() -> Iterator[tuple[Row, LinkedThread]]:
    """Return threads of the labeled corpora by id, and threads of other archives by their Message-IDs."""
    labelled = {
        thread.label["thread"]: thread
        for file in corpus_files("c*/labels.json")
        for thread in read_corpus(file.parent)
    }
    archives: dict[str, dict[str, ThreadMail]] = {}
    for row in _rows("paraphrases"):
        source = row["source"]
        if source in labelled:
            yield row, LinkedThread(labelled[source].mails, labelled[source].profile)
            continue
        if source not in archives:
            archives[source] = _archive(*corpus_files(f"mail/{source}"))
        yield row, LinkedThread([archives[source][id_] for id_ in row["mails"]], SourceProfile())


def _archive(file: Path) -> dict[str, ThreadMail]:
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
        messages = [message for message in parse_archive(stream) if not isinstance(message, Skipped)]
    return {mail.message_id: mail for mail in map(thread_mail_of, messages)}


def _print_part(name: str, found: Sequence[Case]) -> None:
    readings = [case.read() for case in found]
    threads = [case.labelled for case in found]
    raw = figures([result.row for result in score_corpus(threads, [raw_prediction(case) for case in found])])
    predicted = [
        prediction_of(case.labelled.label["thread"], reading)
        for case, reading in zip(found, readings, strict=True)
    ]
    stored = figures([result.row for result in score_corpus(threads, predicted)])
    print(
        f"\n## {name}: {len(found)} threads ({sum(case.is_of_this_prompt for case in found)} of this prompt)"
    )
    for measure in _MEASURES:
        before, after = (
            value["F1"] if isinstance(value := side[measure], dict) else value for side in (raw, stored)
        )
        print(f"   {measure:28} raw {before:<6} stored {after}")
    counts: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    for case, reading in zip(found, readings, strict=True):
        counts += fates_of_claims(case, reading)
        model = reading.model
        for act, given in (("refused", model.refused), ("marked", model.marked)) if model else ():
            for cause in given:
                what, _, why = cause.partition(": ")
                kind = what.rstrip(" 0123456789").split(" of ")[0]
                causes[f"{act} {kind}: {why.partition(' (mail')[0]}"] += 1
    print("   " + ", ".join(f"{fate} {count}" for fate, count in sorted(counts.items())))
    for cause, count in causes.most_common():
        print(f"      {count} {cause}")
    by_kind: dict[str, Counter[str]] = {}
    for case in found:
        for lie in lies_of(case):
            by_kind.setdefault(lie["kind"], Counter())[fate_of_lie(case, lie)] += 1
    total: Counter[str] = sum(by_kind.values(), Counter())
    print(f"   lies: {dict(total)} of {total.total()}")
    for kind, fates in sorted(by_kind.items()):
        print(f"      {kind:24} {dict(fates)}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.checks", description=__doc__)
    parser.add_argument(
        "--part", choices=("first", "second", "third", "fourth"), help="one part of the threads"
    )
    options = parser.parse_args(arguments)
    try:
        found = list(cases([options.part] if options.part else ()))
        counts = Counter() if options.part else paraphrases()
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    for part in dict.fromkeys(case.part for case in found):
        _print_part(part, [case for case in found if case.part == part])
    if counts:
        print(
            "\n## paraphrases\n   " + ", ".join(f"{fate} {count}" for fate, count in sorted(counts.items()))
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
