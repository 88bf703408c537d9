import pytest

from shared.domain.consensus.calls import consensus_calls
from shared.domain.consensus.models import CallKind, ConsensusCall, ConsensusMessage

CALLS: list[tuple[str, CallKind | None]] = [
    ("I believe we have rough consensus.", CallKind.DECLARED),
    ("The chairs believe there is rough consensus to adopt this draft.", CallKind.DECLARED),
    ("We have consensus.", CallKind.DECLARED),
    ("As chair, I declare consensus.", CallKind.DECLARED),
    ("WGLC concluded with strong support.", CallKind.DECLARED),
    ("The WGLC has concluded.", CallKind.CLOSED),
    ("WGLC concluded.", CallKind.CLOSED),
    ("The working group last call for draft-foo-bar has ended.", CallKind.CLOSED),
    ("No objections heard.", CallKind.DECLARED),
    ("Hearing no objections, the draft is adopted.", CallKind.DECLARED),
    ("Having heard no objections, we will proceed.", CallKind.DECLARED),
    ("There were no objections.", CallKind.DECLARED),
    ("No objections were raised during the call.", CallKind.DECLARED),
    ("The hum was strongly in favor.", CallKind.DECLARED),
    ("There was a strong hum for option B.", CallKind.DECLARED),
    ("There was consensus in the room to adopt.", CallKind.DECLARED),
    ("The consensus is to publish.", CallKind.DECLARED),
    ("I see clear consensus for option A.", CallKind.DECLARED),
    ("We do not have consensus.", CallKind.NO_CONSENSUS),
    ("I don't believe we have consensus on this.", CallKind.NO_CONSENSUS),
    ("There is no consensus.", CallKind.NO_CONSENSUS),
    ("Consensus was not reached.", CallKind.NO_CONSENSUS),
    ("The hum was inconclusive.", CallKind.NO_CONSENSUS),
    ("We failed to reach consensus.", CallKind.NO_CONSENSUS),
    ("The consensus is not to adopt.", CallKind.DECLARED_AGAINST),
    ("The hum was against.", CallKind.DECLARED_AGAINST),
    ("This is a consensus call.", CallKind.OPENED),
    ("This message starts a two-week Working Group Last Call on draft-ietf-foo-bar-03.", CallKind.OPENED),
    ("Consensus call: adopt draft-foo?", CallKind.OPENED),
    ("This starts a call for adoption of draft-foo.", CallKind.OPENED),
    (
        "Please respond to this email by Friday stating whether you support or object to adoption.",
        CallKind.OPENED,
    ),
    ("Please hum now.", CallKind.OPENED),
    ("Do we have consensus?", None),
    ("If we have consensus, I will publish.", None),
    ("We need consensus before moving on.", None),
    ("We believe in rough consensus and running code.", None),
    ("Once we have consensus we can proceed.", None),
    ("I'm not sure we have consensus.", None),
    ("I would like to see whether there is consensus.", None),
    ("I object.", None),
    ('Bob wrote "we have consensus".', None),
    ("I have no objection.", None),
]


def calls(text: str, sender: str = "ann@example.com", chairs: tuple[str, ...] = ()) -> list[ConsensusCall]:
    return consensus_calls(ConsensusMessage("k1", sender, text), chairs)


@pytest.mark.parametrize(("text", "kind"), CALLS)
def test_a_consensus_call_is_told_from_talk_about_consensus(text: str, kind: CallKind | None) -> None:
    assert [call.kind for call in calls(text)] == ([kind] if kind else [])


@pytest.mark.parametrize(
    "text",
    [
        "I believe we have rough consensus.\n\nAnn, WG chair",
        "Chair hat on: we have consensus.",
        "As co-chair, I declare consensus.",
        "We have consensus.\n\nBob (for the chairs)",
        "[chair] There is rough consensus to adopt.",
        "I declare consensus.\n\nPiet, slowmail co-chair",
    ],
)
def test_a_chair_who_says_so_is_one(text: str) -> None:
    assert [call.by_chair for call in calls(text)] == [True]


def test_a_chair_is_known_by_address_whatever_its_case() -> None:
    assert calls("We have consensus.", "Ann@Example.com", ("ann@example.COM",))[0].by_chair
    assert not calls("We have consensus.", "eve@example.com", ("ann@example.com",))[0].by_chair


def test_talking_to_the_chair_makes_no_chair() -> None:
    assert not calls("We have consensus, I think the chair agreed to that yesterday.")[0].by_chair
    assert not calls("We have consensus.\nSo let us do that, and thank the chairs\nfor it.")[0].by_chair


def test_a_quoted_call_is_not_the_senders() -> None:
    assert calls("> I believe we have rough consensus.\n\nReally?") == []


def test_a_chair_who_ends_a_call_and_finds_the_document_not_ready_found_no_consensus() -> None:
    text = "The last call has ended. The document is not ready: section 9 comes first.\n\nAnn, as chair"
    assert [call.kind for call in calls(text)] == [CallKind.CLOSED, CallKind.NO_CONSENSUS]
    assert calls("The document is not ready: section 9 comes first.\n\nAnn, as chair") == []
