import pytest

from shared.domain.consensus.models import ConsensusMessage
from shared.domain.consensus.statements import Matter, statements, without_repeats

STATEMENTS: list[tuple[str, Matter | None]] = [
    ("I propose that we drop section 4.", Matter.PROPOSAL),
    ("I'd like to suggest adding a registry.", Matter.PROPOSAL),
    ("Let's merge the two drafts.", Matter.PROPOSAL),
    ("How about we use SHA-256 instead?", Matter.PROPOSAL),
    ("We should adopt the second option.", Matter.PROPOSAL),
    ("My proposal is to split the document.", Matter.PROPOSAL),
    ("We decided to use option B.", Matter.DECISION),
    ("It was agreed that the draft will be split.", Matter.DECISION),
    ("The working group has agreed to publish.", Matter.DECISION),
    ("Decision: go with TLS 1.3.", Matter.DECISION),
    ("Decision for -02: the lifetime is 30 days.", Matter.DECISION),
    ("The draft has been adopted.", Matter.DECISION),
    ("I have merged the pull request.", Matter.DECISION),
    ("Queued, thanks.", Matter.DECISION),
    ("There are two open issues.", Matter.OPEN_ISSUE),
    ("This is still open.", Matter.OPEN_ISSUE),
    ("The registry policy needs further discussion.", Matter.OPEN_ISSUE),
    ("The name is TBD.", Matter.OPEN_ISSUE),
    ("We still need to decide on the port number.", Matter.OPEN_ISSUE),
    ("This has not been resolved.", Matter.OPEN_ISSUE),
    ("There are no open issues left.", None),
    ("All open issues have been resolved.", None),
    ("We have not decided to drop it.", Matter.OPEN_ISSUE),
    ("If we agreed to that, we could publish.", None),
    ("I'm not proposing to drop it.", None),
    ("The weather is nice.", None),
    ("Let us know what you think.", None),
    ("I would not suggest that.", None),
]


@pytest.mark.parametrize(("text", "matter"), STATEMENTS)
def test_a_statement_is_sorted_by_what_it_does(text: str, matter: Matter | None) -> None:
    found = [matter for matter, _ in statements(ConsensusMessage("k1", "a@example.com", text))]
    assert found == ([matter] if matter else [])


def test_a_statement_names_its_sentence_and_message() -> None:
    text = "Hello.\n\nI propose that we drop\nsection 4. Any thoughts?"
    ((_, statement),) = statements(ConsensusMessage("k1", "a@example.com", text))
    evidence = statement.evidence
    assert (evidence.message_key, evidence.quote) == ("k1", "I propose that we drop\nsection 4.")
    assert text[evidence.start : evidence.end] == evidence.quote


def test_what_is_said_twice_is_listed_once() -> None:
    messages = [ConsensusMessage(key, "a@example.com", "We decided to use TLS.") for key in ("k1", "k2")]
    found = [statement for message in messages for _, statement in statements(message)]
    assert [statement.evidence.message_key for statement in without_repeats(found)] == ["k1"]
