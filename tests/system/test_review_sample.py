"""The third sample list, of a community that reviews patches: the labels that the reader must find.

It was labeled before the reader saw it.
"""

import hashlib
import json
from functools import cache
from typing import Any

import pytest

from evaluation.consensus_corpus import read_profile, thread_mail_of
from shared.mail.models import ParsedMail, Skipped
from shared.mail.parse import parse_archive
from shared.models.values import ThreadReading, Tier
from shared.reading.reader import read_thread
from tests.support.services import ROOT
from tests.support.threads import InMemoryThreads, assign
from tools.run_archives.client import definitions_at

FOLDER = ROOT / "samples" / "review"
ARCHIVE = FOLDER / "pebble.mbox"
LABELS: dict[str, Any] = json.loads((ROOT / "tests/system/review_labels.json").read_text(encoding="utf-8"))
LABELED = [pytest.param(thread, id=thread["subject"]) for thread in LABELS["threads"]]


@cache
def readings() -> dict[str, ThreadReading]:
    """Return the readings by the subject of the thread's first message."""
    with ARCHIVE.open("rb") as file:
        messages = [one for one in parse_archive(file) if not isinstance(one, Skipped)]
    (source,) = definitions_at(FOLDER)
    assignments = assign(messages, InMemoryThreads()).assignments
    threads: dict[str, list[ParsedMail]] = {}
    for message in messages:
        threads.setdefault(assignments[message.node], []).append(message)
    profile = read_profile(source)
    return {of[0].subject: read_thread(list(map(thread_mail_of, of)), profile) for of in threads.values()}


def test_the_archive_is_the_one_that_was_labeled() -> None:
    assert hashlib.sha256(ARCHIVE.read_bytes()).hexdigest() == LABELS["archive"]
    assert readings().keys() == {thread["subject"] for thread in LABELS["threads"]}


@pytest.mark.parametrize("label", LABELED)
def test_the_outcome_is_said_with_its_person_and_sentence_or_not_at_all(label: dict[str, Any]) -> None:
    outcome = readings()[label["subject"]].outcome
    if label["outcome"] == "contested":
        assert outcome.tier is Tier.REMARK
        return
    assert (outcome.tier, outcome.kind.value) == (Tier.SAID, label["outcome"])
    assert [one.quote for one in outcome.evidence] == [label["quote"]]
    assert outcome.by.startswith(label["by"])


def test_all_but_one_position_are_said_and_none_is_wrong() -> None:
    said = {
        (label["subject"], one.person): one.stance.value
        for label in LABELS["threads"]
        for one in readings()[label["subject"]].positions
        if one.tier is Tier.SAID
    }
    wanted = {
        (label["subject"], person): stance
        for label in LABELS["threads"]
        for person, stance in label["positions"].items()
    }
    assert said.items() <= wanted.items()
    assert len(wanted) == 12
    assert len(said) >= 11
