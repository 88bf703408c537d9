"""The sample archives that `make run` takes in: what a reader is to find in them."""

import pytest

from localcloud.up.app import definitions_at
from shared.documents.values import PositionStance, ThreadOutcome, ThreadReading, Tier
from shared.domain.consensus.parsed_mails import thread_mail_of
from shared.domain.consensus.reader import read_thread
from shared.domain.consensus.thread_mail import read_profile
from shared.domain.mail.models import ParsedMail, Skipped
from shared.domain.mail.parse import parse_archive
from shared.domain.threading.assignment import assign
from tests.support.services import ROOT
from tests.support.threads import InMemoryThreads

SAMPLES = sorted((ROOT / "samples").glob("*.mbox"))


def parsed() -> list[ParsedMail]:
    found = []
    for path in SAMPLES:
        with path.open("rb") as file:
            found += list(parse_archive(file))
    assert not [message for message in found if isinstance(message, Skipped)]
    return [message for message in found if isinstance(message, ParsedMail)]


def threads() -> dict[str, ThreadReading]:
    """What each thread amounts to, by the subject of its first message, read with its list's roles."""
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


def test_two_lists_of_some_dozens_of_messages_share_a_cross_post() -> None:
    messages = parsed()
    assert len(SAMPLES) == 2
    assert len(messages) - len({message.message_key for message in messages}) == 1
    assert not [message.warnings for message in messages if message.warnings]


CASES = [
    ("[tally] Call for adoption: draft-lindqvist-tally-receipts-02", True, "accepted", 4, 0),
    ("[tally] Mandatory-to-implement signature algorithm", False, "contested", 1, 2),
    ("[tally] Lifetime of a receipt", True, "revised", 2, 0),
    ("[tally] CBOR or JSON for the receipt?", True, "accepted", 2, 1),
    ("[tally] Results from the hackathon", False, None, 0, 0),
    ("[tally] Working group last call: draft-ietf-tally-receipts-04", False, None, 0, 0),
    ("[slowmail] MUST or SHOULD: retrying a batch", True, "accepted", 3, 0),
    ("[slowmail] Consensus call: remove the compression option", True, "accepted", 3, 1),
    ('[slowmail] Renaming "slowmail"', False, "rejected", 0, 0),
]


@pytest.mark.parametrize(("subject", "has_consensus", "outcome", "support", "against"), CASES)
def test_a_sample_thread_reads_as_its_people_meant_it(
    subject: str, has_consensus: bool, outcome: str | None, support: int, against: int
) -> None:
    """None: nothing is said, which is never wrong."""
    reading = threads()[subject]
    assert (reading.has_consensus, _said(reading.outcome)) == (has_consensus, outcome)
    said = [position.stance for position in reading.positions if position.tier is Tier.SAID]
    assert (said.count(PositionStance.SUPPORT), said.count(PositionStance.OPPOSE)) == (support, against)


def _said(outcome: ThreadOutcome) -> str | None:
    return outcome.kind.value if outcome.tier is Tier.SAID else None
