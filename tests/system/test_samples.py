"""The sample archives of `make run`: the labels that the reader must find."""

import hashlib
import json
from functools import cache
from typing import Any, ClassVar

import pytest

from evaluation.consensus_corpus import read_profile, thread_mail_of
from shared.mail.models import ParsedMail, Skipped
from shared.mail.parse import parse_archive
from shared.models.values import (
    Fate,
    Position,
    SentenceCitation,
    ThreadReading,
    Tier,
)
from shared.reading.reader import read_thread
from tests.support.services import ROOT
from tests.support.threads import InMemoryThreads, assign
from tools.run_archives.client import definitions_at

SAMPLES = sorted((ROOT / "samples").glob("*.mbox"))


def parsed() -> list[ParsedMail]:
    found = []
    for path in SAMPLES:
        with path.open("rb") as file:
            found += list(parse_archive(file))
    assert not [message for message in found if isinstance(message, Skipped)]
    return [message for message in found if isinstance(message, ParsedMail)]


@cache
def threads() -> dict[str, ThreadReading]:
    """Return the reading of each thread, by the subject of its first message, with its list's roles."""
    unique = list({message.message_key: message for message in parsed()}.values())
    assignments = assign(unique, InMemoryThreads()).assignments
    members: dict[str, list[ParsedMail]] = {}
    for message in unique:
        members.setdefault(assignments[message.node], []).append(message)
    return {of[0].subject: _reading(of) for of in members.values()}


def _reading(members: list[ParsedMail]) -> ThreadReading:
    profiles = {source["name"]: read_profile(source) for source in definitions_at(ROOT / "samples")}
    (name,) = [name for name in profiles if members[0].subject.startswith(f"[{name}]")]
    return read_thread([thread_mail_of(message) for message in members], profiles[name])


@pytest.mark.requirement("R-1101")
def test_two_lists_of_some_dozens_of_messages_share_a_cross_post() -> None:
    messages = parsed()
    assert len(SAMPLES) == 2
    assert len(messages) - len({message.message_key for message in messages}) == 1
    assert not [message.warnings for message in messages if message.warnings]


class Labels:
    """The labels of a person who read both archives completely, before the reader did."""

    _read = json.loads((ROOT / "tests/system/sample_labels.json").read_text(encoding="utf-8"))
    archives: ClassVar[dict[str, str]] = _read["archives"]
    threads: ClassVar[list[dict[str, Any]]] = _read["threads"]


LABELED = [pytest.param(thread, id=thread["subject"]) for thread in Labels.threads]


def test_the_archives_are_those_that_were_labeled() -> None:
    """Rules are written for the messages, and never the messages for the rules."""
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in SAMPLES}
    assert found == Labels.archives


@pytest.mark.parametrize("label", LABELED)
def test_the_outcome_is_said_with_its_person_and_its_sentence(label: dict[str, Any]) -> None:
    reading, wanted = threads()[label["subject"]], label["outcome"]
    outcome = reading.outcome
    assert (outcome.tier, outcome.kind.value) == (Tier.SAID, wanted["kind"])
    assert reading.has_consensus is wanted["agreed"]
    assert [one.quote for one in outcome.evidence] == [wanted["quote"]]
    assert _mail(outcome.evidence[0]) == wanted["message"]
    assert wanted["by"] in outcome.sentence
    assert outcome.by.partition(" (")[0] == wanted["by"]
    role = outcome.authority.role if outcome.authority else None
    assert role == wanted["role"]


def test_all_but_three_positions_are_said_and_none_is_wrong() -> None:
    wanted = sum(len(label["positions"]) for label in Labels.threads)
    said, wrong = 0, []
    for label in Labels.threads:
        stances = {one["person"]: one for one in label["positions"]}
        for position in threads()[label["subject"]].positions:
            if position.tier is Tier.SAID:
                said += 1
                if not _holds(position, stances.get(position.person)):
                    wrong.append((label["subject"], position))
    assert not wrong
    assert wanted == 39
    assert said >= 36


def _holds(position: Position, label: dict[str, Any] | None) -> bool:
    """Return whether person, stance and sentence match. A repeated statement matches with either sentence."""
    if label is None or position.stance.value != label["stance"]:
        return False
    sentences = [[label["message"], label["quote"]], *label.get("again", [])]
    return [_mail(position.citation), position.citation.quote] in sentences


@pytest.mark.parametrize("label", LABELED)
def test_a_withdrawn_objection_has_the_sentence_that_withdraws_it(label: dict[str, Any]) -> None:
    withdrawn = [one for one in threads()[label["subject"]].objections if one.fate is Fate.WITHDRAWN]
    found = [
        {
            "person": one.person,
            "objection": one.citation.quote,
            "message": _mail(one.withdrawal) if one.withdrawal else "",
            "quote": one.withdrawal.quote if one.withdrawal else "",
        }
        for one in withdrawn
    ]
    assert found == label["withdrawals"]


@pytest.mark.parametrize("label", LABELED)
def test_the_tallies_of_the_chair_are_shown_as_the_chairs(label: dict[str, Any]) -> None:
    tallies = threads()[label["subject"]].tallies
    found = [{"message": _mail(one.citation), "quote": one.citation.quote} for one in tallies]
    assert found == label["tallies"]
    assert {one.by.name for one in tallies} <= {label["outcome"]["by"]}


@pytest.mark.parametrize("label", LABELED)
def test_no_thread_that_was_ruled_on_is_called_open_or_without_a_result(label: dict[str, Any]) -> None:
    reading = threads()[label["subject"]]
    assert reading.open_call is None
    assert "no ruling" not in reading.outcome.sentence
    assert "No decision" not in reading.outcome.sentence


def test_what_only_tells_of_the_work_has_no_outcome_and_no_positions() -> None:
    reading = threads()["[tally] Results from the hackathon"]
    assert reading.outcome.tier is Tier.REMARK
    assert not [one for one in reading.positions if one.tier is Tier.SAID]


def _mail(citation: SentenceCitation) -> str:
    """Return the message's place in the archive: the first part of the Message-ID."""
    return citation.message_id.strip("<>").partition(".")[0]
