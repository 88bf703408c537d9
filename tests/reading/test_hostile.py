"""Hostile mail that tries to keep the reader busy forever."""

import pytest

from shared.reading.mails import MAX_SENTENCE, own_sentences
from shared.reading.reader import read_thread
from tests.support.cpu import within_cpu
from tests.support.thread_mails import mail

CALL = "This is a consensus call.\n\n"
SECONDS = 8.0  # a slow machine may take a while, but an attack takes minutes or longer


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
    with within_cpu(SECONDS):
        read_thread([mail(0, "ann", "I propose that we adopt it."), mail(1, "eve", text)])


def test_a_sentence_without_an_end_is_read_in_pieces_that_lose_nothing() -> None:
    text = "word " * 900 + "I support adoption of this draft " + "word " * 900
    sentences = own_sentences(text, (), 0)
    assert max(sentence.end - sentence.start for sentence in sentences) <= MAX_SENTENCE
    assert "".join(sentence.text for sentence in sentences).replace(" ", "") == text.replace(" ", "")
    assert all(text[sentence.start : sentence.end] == sentence.text for sentence in sentences)
