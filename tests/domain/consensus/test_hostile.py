"""Mail that was written to keep the reader busy for ever."""

import pytest

from shared.domain.consensus.calls import consensus_calls
from shared.domain.consensus.models import ConsensusMessage
from shared.domain.consensus.sentences import own_sentences
from shared.domain.consensus.stance import message_stance
from shared.domain.consensus.statements import statements
from tests.support.cpu import within_cpu

CALL = "This is a consensus call.\n\n"
SECONDS = 8.0  # with room for a slow machine; what is caught here would take minutes or longer


@pytest.fixture(autouse=True)
def warm() -> None:
    """The sentence model is loaded once in a process."""
    own_sentences("Warm. Up.")


@pytest.mark.parametrize(
    "text",
    [
        "I agree with " + "that " * 40 + "x",
        "We support " + "that " * 200 + "x",
        "I support this " + "if " * 20_000 + ", and I object",
        "whether " * 10_000 + ", " + "I support this and " * 1_000,
        "'a" * 50_000 + " I support this",
        "+1, " * 20_000,
        CALL + "!\n" * 50_000,
        CALL + "." * 100_000 + "\n",
        "I have read it " + "and " * 25_000,
        '"' * 50_000,
        "' a" * 30_000,
    ],
    ids=lambda text: text[:20].strip(),
)
def test_no_mail_keeps_the_reader_busy(text: str) -> None:
    message = ConsensusMessage("k1", "eve@example.com", text, "Eve")
    with within_cpu(SECONDS):
        message_stance(message)
        consensus_calls(message)
        list(statements(message))


def test_a_sentence_without_an_end_is_read_in_pieces_that_lose_nothing() -> None:
    text = "word " * 900 + "I support adoption of this draft " + "word " * 900
    sentences = own_sentences(text)
    assert max(each.end - each.start for each in sentences) <= 1000
    assert "".join(each.text for each in sentences).replace(" ", "") == text.replace(" ", "")
    assert all(text[each.start : each.end] == each.text for each in sentences)
    assert [each.text for each in own_sentences("x" * 2500)] == ["x" * 1000, "x" * 1000, "x" * 500]


@pytest.mark.parametrize(
    "signature",
    ["Ada, WG chair", "-- \nAda Lovelace, TLS WG co-chair", "***\n\n  your chairs --", "Chair\n\n\n"],
)
def test_a_signature_still_says_who_is_chair(signature: str) -> None:
    (call,) = consensus_calls(ConsensusMessage("k1", "ada@example.com", f"{CALL}Thanks\n\n{signature}"))
    assert call.by_chair
