"""Other languages, hostile mail, and the operator's settings."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from evaluation.consensus_corpus import thread_mail_of
from shared.mail.parse import parse_message
from shared.models.values import Tier
from shared.reading.mails import (
    MAX_SENTENCE,
    MAX_SENTENCES,
    QuotedBlock,
    ThreadMail,
    language_of,
    own_sentences,
)
from tests.support.thread_mails import mail, read, said

PROPOSAL = "I propose to drop the old tool from the tree. Comments are welcome."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I think that we should keep the tool, because it is used by many of us.", "en"),
        ("Ich finde, dass wir das nicht machen, und die Frage ist auch noch nicht entschieden.", "de"),
        ("Je pense que nous avons une question pour les gens qui sont dans le groupe.", "fr"),
        ("Creo que los cambios son para todos, pero el grupo no está de acuerdo con una parte.", "es"),
        ("Я думаю, что это хорошая идея для всех нас.", "ru"),
        ("これは良い考えだと思います。", "ja"),
        ("+1", "und"),
        ("", "und"),
    ],
)
def test_the_language_of_a_mail(text: str, language: str) -> None:
    assert language_of(text) == language


def test_another_language_is_quoted_nowhere_and_never_judged() -> None:
    german = "Ich bin dafür und finde, dass wir das so machen. Nein. +1 LGTM und das ist auch nicht schwer."
    reading = read(mail(0, "prop", PROPOSAL), mail(1, "ann", german), mail(2, "bob", "+1", answers=1))
    assert "ann" not in {one.person.partition("@")[0] for one in reading.positions}
    assert reading.lang == "en"


def test_a_thread_in_another_language_says_which_and_nothing_else() -> None:
    german = "Ich schlage vor, dass wir das Werkzeug nicht mehr mit ausliefern, und bitte um eure Meinung."
    reading = read(
        mail(0, "prop", german), mail(1, "ann", "Das ist auch für mich die beste Lösung, und wir sind dabei.")
    )
    assert reading.lang == "de"
    assert said(reading) == {}
    assert not reading.has_consensus


def calls_made(work: Callable[[], Any]) -> int:
    """Count the function calls of some work, built-in functions included. Load does not change this count."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def answer(text: str, blocks: int = 0) -> list[ThreadMail]:
    quotes = tuple(QuotedBlock(number, "the old tool " * 20) for number in range(blocks))
    second = ThreadMail(
        message_id="<m1>", address="ann@list.example", text=text, reply_to="<m0>", quotes=quotes
    )
    return [mail(0, "prop", PROPOSAL), second]


@pytest.mark.parametrize(
    "unit",
    [
        "+1 ",
        "+1\n",
        "[(",
        "> quoted\n",
        "I support this. ",
        "x",
        " ",
        "please let us know if you agree ",
        "a.b. ",
        "-1, ",
    ],
)
def test_repetition_costs_no_more_than_its_length_up_to_a_bound(unit: str) -> None:
    """Twice the text costs about twice the work, and a megabyte hardly more than the part that is read."""
    small, large, huge = (unit * (size // len(unit)) for size in (20_000, 40_000, 1_000_000))
    costs = [calls_made(lambda text=text: read(*answer(text))) for text in (small, large, huge)]  # type: ignore[misc]
    assert costs[1] <= costs[0] * 2.5 + 2_000
    assert costs[2] <= costs[0] * 5 + 60_000


def test_thousands_of_quoted_blocks_are_looked_at_once_each() -> None:
    few, many = (calls_made(lambda n=n: read(*answer("Right. " * n, n))) for n in (200, 400))  # type: ignore[misc]
    assert many <= few * 2.5


def test_a_long_chain_of_replies_is_read_in_about_linear_work() -> None:
    def chain(length: int) -> list[ThreadMail]:
        return [
            mail(
                number,
                f"p{number % 7}",
                f"I have nothing to add to remark number {number}. +1",
                answers=number - 1,
            )
            for number in range(length)
        ]

    short, long = (calls_made(lambda n=n: read(*chain(n))) for n in (200, 400))  # type: ignore[misc]
    assert long <= short * 2.2


def test_reply_links_may_form_a_circle() -> None:
    first = ThreadMail(message_id="<a>", address="a@list.example", text=PROPOSAL, reply_to="<b>")
    second = ThreadMail(message_id="<b>", address="b@list.example", text="+1", reply_to="<a>")
    assert read(first, second).lang == "en"
    assert read(ThreadMail(message_id="<a>", address="", text="", reply_to="<a>")).positions == ()


def test_a_sentence_and_their_number_are_bounded() -> None:
    assert len(own_sentences("Right so. " * 10_000, (), 0)) == MAX_SENTENCES
    assert max(len(one.text) for one in own_sentences("word " * 1_000, (), 0)) <= MAX_SENTENCE


def test_a_parsed_mail_keeps_its_quotes_at_their_places() -> None:
    raw = (
        b"From: Ann <Ann@list.example>\nMessage-ID: <m1@x>\nIn-Reply-To: <m0@x>\nSubject: Re: A matter\n\n"
        b"Hello.\n\n> drop the old tool\n> from the tree\n\nI support this.\n"
    )
    found = thread_mail_of(parse_message(raw))
    assert found.address == "ann@list.example"
    assert found.reply_to == "<m0@x>"
    assert [found.text[quote.position :].strip() for quote in found.quotes] == ["I support this."]
    assert found.quotes[0].text.split() == ["drop", "the", "old", "tool", "from", "the", "tree"]


@pytest.mark.parametrize("answer", ["+1 from me", "I support this proposal.", "NAK", "+1 LGTM, bin dabei"])
def test_under_mail_in_another_language_nobody_is_judged(answer: str) -> None:
    german = "Ich schlage vor, dass wir das Werkzeug nicht mehr mit ausliefern, und bitte um eure Meinung."
    long = "Wir haben das schon oft besprochen, und ich denke auch, dass es nicht mehr gebraucht wird."
    reading = read(mail(0, "prop", german), mail(1, "ann", answer), mail(2, "bob", long))
    assert reading.lang == "de"
    assert (reading.positions, reading.objections, reading.decisions) == ((), (), ())
    assert reading.outcome.tier is Tier.REMARK


def test_a_language_that_the_reader_has_never_seen_is_not_judged() -> None:
    finnish = (
        "Mielestäni ehdotus on hyvä, +1. Vanhaa työkalua ei enää käytä kukaan, eikä sitä kannata ylläpitää. "
        "LGTM, poistetaan se heti."
    )
    assert language_of(finnish) == "und"
    reading = read(mail(0, "prop", PROPOSAL), mail(1, "ann", finnish), mail(2, "bob", "+1"))
    assert said(reading) == {"bob": "support"}
    assert "ann@list.example" not in {one.person for one in reading.positions}
    assert "ann@list.example" not in {one.person for one in reading.objections}
