"""Answers right below the words of a proposal, and the same answers below other words."""

import pytest

from shared.models.values import ThreadReading
from shared.reading.mails import QuotedBlock, ThreadMail
from tests.support.thread_mails import GIT, IETF, mail, read, remarks, said

PROPOSAL = (
    "The build is slow, and its disks are full. I propose to move the build to a new server. "
    "The old one has a licence that ends in May."
)
PUTS = "I propose to move the build to a new server."
ASIDE = "The old one has a licence that ends in May."


def between(*parts: str, answers: int = 0) -> ThreadMail:
    """Build an answer between quoted lines: lines, text, lines, text and so on."""
    own, quotes = "", []
    for quoted, text in zip(parts[::2], parts[1::2], strict=True):
        quotes.append(QuotedBlock(len(own), quoted))
        own += f"{text}\n\n"
    first = mail(1, "ann", own, answers=answers)
    return ThreadMail(
        message_id=first.message_id,
        address=first.address,
        name=first.name,
        text=own,
        subject=first.subject,
        date=first.date,
        reply_to=first.reply_to,
        quotes=tuple(quotes),
    )


def to_words(*parts: str, put: str = PROPOSAL) -> ThreadReading:
    return read(mail(0, "prop", put), between(*parts))


FILLER = "Which disks are they? The small ones were bought last year. They came from the other hall."


@pytest.mark.parametrize(
    "text",
    [
        "Sounds good to me.",
        "Agreed.",
        "+1",
        "I think this makes sense: it is high time.",
        "I'm fine with this.",
    ],
)
def test_right_below_the_words_that_propose_it_is_of_them(text: str) -> None:
    assert said(
        to_words("The build is slow, and its disks are full.", FILLER, PUTS, text, ASIDE, FILLER)
    ) == {"ann": "support"}


@pytest.mark.parametrize("text", ["Sounds good to me.", "Agreed.", "+1"])
def test_below_other_lines_the_same_words_are_of_these(text: str) -> None:
    reading = to_words("The build is slow, and its disks are full.", FILLER, ASIDE, text, ASIDE, FILLER)
    assert said(reading) == {}


def test_who_agrees_point_by_point_goes_through_a_list() -> None:
    first = "The build is slow, and its disks are full."
    assert said(to_words(first, f"+1 {FILLER}", PUTS, "+1", ASIDE, "+1")) == {}


def test_a_doubt_in_the_very_sentence_takes_it_back() -> None:
    text = "I'm not sure that it is needed, but it seems like a good idea."
    assert said(to_words(PROPOSAL, text)) == {}


@pytest.mark.parametrize(
    "text",
    [
        "+1 on this.",
        "Seems fine to me, it is only one more disk.",
        "I agree that we should move the build.",
        "+1 for moving the build.",
    ],
)
def test_the_first_words_of_an_answer_are_of_the_proposition(text: str) -> None:
    assert said(to_words(PROPOSAL, f"{text} {FILLER}", ASIDE, FILLER)) == {"ann": "support"}


def test_where_quotes_were_lost_the_first_words_of_a_long_answer_may_be_of_anything() -> None:
    long = mail(1, "ann", f"I think this makes sense. {FILLER} I am not sure about the rest.")
    assert said(read(mail(0, "prop", PROPOSAL), long)) == {}


@pytest.mark.parametrize(
    ("doubt", "expected"),
    [
        ("The old disks should not be there at all.", {"ann": "support"}),
        ("I am not sure that we can pay for it.", {}),
        ("My concern is the licence.", {}),
    ],
)
def test_doubts_of_ones_own_take_it_back_and_what_should_not_be_does_not(
    doubt: str, expected: dict[str, str]
) -> None:
    reading = to_words(PROPOSAL, f"Sounds good to me. The hall is large enough. There is power, too. {doubt}")
    assert said(reading) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I think this is reasonable.",
        "That's a good idea, especially if the licence ends in May.",
        "This sounds absolutely fantastic - thank you for taking it on.",
        "I'd be in favour of moving it.",
        "I fully support moving the build.",
        "I think it is a good idea to move the build.",
        "I'd like to see this happen.",
        "Proposal looks good.",
        "Good idea!",
        "Take it as a +1 from me.",
        "I don't see any problems with this.",
    ],
)
def test_more_ways_to_be_for_it(text: str) -> None:
    assert said(read(mail(0, "prop", PROPOSAL), mail(1, "ann", text))) == {"ann": "support"}


@pytest.mark.parametrize(
    "text",
    [
        "Maybe that's a reasonable plan.",
        "This looks like an excellent use for the old disks.",
        "Sounds well suited to the other hall.",
        "Idon't think the two halls should be merged.",
        "We would like the option to keep the old disks.",
        "This works for me on the old server.",
        "Talking to the hall first is a good start.",
        "I'd like to see this changed.",
        "It seems reasonable for some to keep the disks.",
        "It would be a good idea to look at the licence before that.",
        "+1 on moving the build, I would still prefer the old hall.",
        "In Hall 4, we also support several servers.",
    ],
)
def test_what_only_sounds_like_it(text: str) -> None:
    assert said(read(mail(0, "prop", PROPOSAL), mail(1, "ann", text))) == {}


@pytest.mark.parametrize(
    "put",
    [
        "The build is slow. Could we move it to a new server?",
        "The build is slow. What would people think of a new server for it?",
        "I'm thinking about moving the build to a new server.",
        "Perhaps the build could use the new server.",
        "The build is slow. Why don't we take the new server?",
        "Would it make sense for the build to use the new server?",
        "The build could be moved to the new server. Please share your thoughts on that.",
        "We plan to move the build to the new server.",
        "It has been suggested that the build uses the new server.",
        "May I suggest a new server for the build?",
        "The build is slow. Let's take the new server for it.",
        "I am wondering whether the build is better off on the new server.",
        "How do people feel about a new server for the build?",
    ],
)
def test_plain_words_that_put_something(put: str) -> None:
    assert said(read(mail(0, "prop", put), mail(1, "ann", "+1"))) == {"ann": "support"}


@pytest.mark.parametrize(
    "put",
    [
        "The build fails on the new server with an error.",
        "How can we see what the build does on the new server?",
        "I am thinking about using the new server for a game.",
        "The build on the new server took four minutes yesterday.",
        "What could we do about the noise in the hall?",
    ],
)
def test_words_that_put_nothing(put: str) -> None:
    assert said(read(mail(0, "prop", put), mail(1, "ann", "+1"))) == {}


def test_a_good_idea_was_somebodys() -> None:
    put = "The build fails on the new server with an error. The old one is idle."
    assert said(read(mail(0, "prop", put), mail(1, "ann", "Good idea!"))) == {"ann": "support"}
    assert said(read(mail(0, "prop", put), mail(1, "ann", f"{FILLER} It is late. Good idea!"))) == {}


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Should we move the build to a new server?", "Yes, definitely.", "support"),
        ("How about moving the build to a new server?", "Absolutely!", "support"),
        ("How about moving the build to a new server?", "Absolutely not.", "oppose"),
        ("I would move the build, do you agree?", "Yes.", "support"),
        ("Should we really keep the build there?", "Yes.", None),
        ("Should we move the build or sell the disks?", "Yes.", None),
        ("Would anyone mind a move of the build, or not?", "Absolutely not.", None),
        ("I suggest a new server. Is the old one full?", "Yes.", None),
        ("Should we move the build to a new server?", "No.", None),
    ],
)
def test_a_yes_is_a_stance_where_the_question_proposes(
    question: str, answer: str, expected: str | None
) -> None:
    put = f"The build is slow. I suggest something new for it. {question}"
    reading = to_words(question, answer, put=put)
    assert said(reading) == ({"ann": expected} if expected else {})


@pytest.mark.parametrize(
    "text",
    [
        "I think this is a bad idea, the old one is fine.",
        "This looks like a bad idea: nobody has the time.",
        "I don't think this is a good idea.",
        "I do not think that this would be reliable.",
        "I don't think this is appropriate for us.",
        "I don't think we should do this.",
        "I'd rather not do that.",
        "I generally disagree with this, as nobody has the time.",
        "I don't like this idea.",
        "Please don't do this.",
    ],
)
def test_plain_words_against_what_is_put(text: str) -> None:
    assert said(read(mail(0, "prop", PROPOSAL), mail(1, "ann", text))) == {"ann": "oppose"}
    below = to_words("The build is slow, and its disks are full.", FILLER, PUTS, text, ASIDE, FILLER)
    assert said(below) == {"ann": "oppose"}


@pytest.mark.parametrize(
    "text",
    [
        "I don't think this is a bug.",
        "I don't think that this is a problem.",
        "I don't think it's a good idea to call it that.",
        "I don't think this is a good idea if the licence ends.",
        "I don't think this is a good idea before May.",
        "I don't like the idea of selling the disks.",
        "I disagree that the disks are full.",
        "I don't think we should wait any longer.",
        "He says this is a bad idea.",
        "I'm not sure this is a good idea.",
        "It is not a bad idea.",
    ],
)
def test_doubts_and_other_matters_are_no_opposition(text: str) -> None:
    assert said(read(mail(0, "prop", PROPOSAL), mail(1, "ann", text))) == {}


def test_words_against_other_lines_are_remarks() -> None:
    text = "I don't think this is a good idea."
    reading = to_words("The build is slow, and its disks are full.", FILLER, ASIDE, text, ASIDE, FILLER)
    assert said(reading) == {}
    assert remarks(reading) == {"ann": "oppose"}


@pytest.mark.parametrize(
    "text",
    [
        "Patch looks good.",
        "This looks good to me, FWIW I did not know that rule.",
        "I read it and didn't find anything to complain about.",
    ],
)
def test_more_ways_to_approve_of_a_patch(text: str) -> None:
    patch = mail(0, "pat", "Keep the last line of a file.", subject="[PATCH] parser: keep the last line")
    assert said(read(patch, mail(1, "ann", text), profile=GIT)) == {"ann": "support"}


@pytest.mark.parametrize(
    "text",
    [
        "This looks good, I would take it if the test passed.",
        "I didn't find any use for this.",
        "This looked good to Bob.",
        "The old code looked fine, this does not.",
    ],
)
def test_less_than_approval_of_a_patch(text: str) -> None:
    patch = mail(0, "pat", "Keep the last line of a file.", subject="[PATCH] parser: keep the last line")
    assert said(read(patch, mail(1, "ann", text), profile=GIT)) == {}


def test_where_the_order_was_lost_who_opens_with_support_puts_nothing() -> None:
    answer = mail(0, "bob", "+1")
    put = mail(1, "prop", "I would suggest that a section on tests is added to the draft.", answers=None)
    ann = mail(
        2, "ann", "I support adding that section. I also suggest a table of the old names in it.", answers=1
    )
    assert said(read(answer, put, ann, profile=IETF)).get("ann") == "support"
