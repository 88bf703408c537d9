"""The sample archives that `make run` takes in: what a reader is to find in them."""

import pytest

from shared.domain.consensus.analysis import analyse_thread
from shared.domain.consensus.models import ConsensusMessage, ConsensusType, ThreadConsensus
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
    assert not [each for each in found if isinstance(each, Skipped)]
    return [each for each in found if isinstance(each, ParsedMail)]


def threads() -> dict[str, ThreadConsensus]:
    """What each thread amounts to, by the subject of its first message."""
    unique = list({message.message_key: message for message in parsed()}.values())
    assignments = assign(unique, InMemoryThreads()).assignments
    members: dict[str, list[ParsedMail]] = {}
    for message in unique:
        members.setdefault(assignments[message.node], []).append(message)
    return {of[0].subject: analyse_thread(_for_consensus(each) for each in of) for of in members.values()}


def _for_consensus(message: ParsedMail) -> ConsensusMessage:
    return ConsensusMessage(
        message.message_key,
        message.sender.email,
        message.body_normalized,
        message.sender.name,
        message.date,
        message.node,
        message.in_reply_to[0] if message.in_reply_to else None,
    )


def test_two_lists_of_some_dozens_of_messages_share_a_cross_post() -> None:
    messages = parsed()
    assert len(SAMPLES) == 2
    assert len(messages) - len({message.message_key for message in messages}) == 1
    assert not [message.warnings for message in messages if message.warnings]


@pytest.mark.parametrize(
    ("subject", "has_consensus", "kind", "support", "objection"),
    [
        (
            "[tally] Call for adoption: draft-lindqvist-tally-receipts-02",
            True,
            ConsensusType.AGREEMENT,
            6,
            0,
        ),
        ("[tally] Mandatory-to-implement signature algorithm", False, ConsensusType.MIXED, 2, 3),
        ("[tally] Lifetime of a receipt", True, ConsensusType.AGREEMENT, 3, 0),
        ("[tally] CBOR or JSON for the receipt?", True, ConsensusType.AGREEMENT, 3, 0),
        ("[tally] Results from the hackathon", False, None, 0, 0),
        ("[tally] Working group last call: draft-ietf-tally-receipts-04", False, ConsensusType.MIXED, 3, 2),
        ("[slowmail] MUST or SHOULD: retrying a batch", True, ConsensusType.AGREEMENT, 5, 0),
        ("[slowmail] Consensus call: remove the compression option", True, ConsensusType.MIXED, 5, 2),
    ],
)
def test_a_sample_thread_reads_as_its_people_meant_it(
    subject: str, has_consensus: bool, kind: ConsensusType | None, support: int, objection: int
) -> None:
    result = threads()[subject]
    assert (result.has_consensus, result.consensus_type) == (has_consensus, kind)
    assert (result.counts.support, result.counts.objection) == (support, objection)
