"""Askers who return, short answers, and authors who accept a change."""

import pytest

from shared.models.values import OutcomeKind, SourceProfile, ThreadOutcome, Tier
from tests.support.thread_mails import IETF, mail, read

QUESTION = "How can I read a file that has no newline at its end? I am new to this tool."
SUBJECT = "How to read the last line?"
TOLD = "The parser drops the last line unless the option is set. Set the option before you open the file."
BACK = "I set the option, and now the first line is gone too. Is there another option for that?"
MORE = "The first line is only kept when the header is read apart. Call the header function before the loop."


def asked(*mails: str, profile: SourceProfile | None = None) -> ThreadOutcome:
    """Build a thread of the asker and another person, who write in turn."""
    thread = [mail(0, "ann", QUESTION, subject=SUBJECT)]
    thread += [
        mail(number, "ann" if number % 2 == 0 else "bob", text, answers=number - 1, subject=f"Re: {SUBJECT}")
        for number, text in enumerate(mails, start=1)
    ]
    return read(*thread, profile=profile).outcome


def is_said(outcome: ThreadOutcome, kind: OutcomeKind) -> bool:
    return outcome.kind is kind and outcome.tier is Tier.SAID


def test_an_asker_who_came_back_and_was_told_again_is_answered() -> None:
    outcome = asked(TOLD, BACK, MORE)
    assert is_said(outcome, OutcomeKind.ANSWERED)
    assert outcome.rule == "told again"


@pytest.mark.parametrize(
    "mails",
    [
        (TOLD, BACK),
        (TOLD, BACK, "Which version of the tool do you use on that machine, and on which system?"),
        (TOLD, BACK, MORE, "It is still gone, and I do not know why that happens."),
        (TOLD, BACK, MORE, BACK, MORE, BACK, MORE),
    ],
)
def test_an_asker_who_is_asked_back_or_not_content_is_not_answered(mails: tuple[str, ...]) -> None:
    assert asked(*mails).tier is Tier.REMARK


def test_on_a_list_about_a_text_a_question_is_a_remark_on_it() -> None:
    assert asked(TOLD, BACK, MORE, profile=IETF).tier is Tier.REMARK


@pytest.mark.parametrize(
    "answer",
    [
        "You need to set the option first.",
        "Try the option of the reader.",
        "You should have a look at the reader.",
    ],
)
def test_one_sentence_that_says_what_to_do_answers(answer: str) -> None:
    assert is_said(asked(answer), OutcomeKind.ANSWERED)


@pytest.mark.parametrize(
    "answer",
    [
        "You should ask on the users' mailing list.",
        "Sorry for the trouble.",
        "Did you try the option?",
        "I have the same problem here.",
    ],
)
def test_who_sends_the_asker_away_answers_nothing(answer: str) -> None:
    assert asked(answer).tier is Tier.REMARK


@pytest.mark.parametrize(
    "words", ["All working now, thanks!", "Everything is fine now.", "Great, it's all good now."]
)
def test_an_asker_for_whom_it_works_now_is_answered(words: str) -> None:
    assert is_said(asked(TOLD, words), OutcomeKind.ANSWERED)


@pytest.mark.parametrize(
    "words", ["Not all is working now.", "All was working before the update.", "All tests fail now."]
)
def test_an_asker_for_whom_not_all_works_is_not_content(words: str) -> None:
    assert asked(TOLD, words).tier is Tier.REMARK


TEXT = (
    "I propose to say MUST in section 4. The text should name the header, and it needs to say who sends it."
)
REVIEW = (
    "The header is named in section 3.",
    "Section 4 is about the sender.",
    "The sender is a client there.",
)


def reviewed(promise: str, *after: str) -> ThreadOutcome:
    thread = [mail(0, "ann", TEXT, subject="Section 4")]
    thread += [
        mail(number, "bob", text, subject="Re: Section 4") for number, text in enumerate(REVIEW, start=1)
    ]
    thread.append(mail(4, "edi", promise, subject="Re: Section 4"))
    thread += [
        mail(number, "cyn", text, subject="Re: Section 4") for number, text in enumerate(after, start=5)
    ]
    return read(*thread, profile=IETF).outcome


@pytest.mark.parametrize(
    "promise",
    [
        "I'll add that to the next version.",
        "I have fixed it in my working copy.",
        "I will reword the section.",
    ],
)
def test_who_writes_the_text_takes_a_change_over(promise: str) -> None:
    assert is_said(reviewed(promise), OutcomeKind.REVISED)


@pytest.mark.parametrize("after", ["Why would a client send it?", "I don't think that MUST is right."])
def test_what_is_doubted_after_the_promise_is_not_settled(after: str) -> None:
    assert reviewed("I'll add that to the next version.", after).tier is Tier.REMARK


def headless(words: str, *, by: str = "chair@ietf.example") -> ThreadOutcome:
    """Build a call without its opening message, so that its first message answers a missing one."""
    first = mail(
        0, "ann", "I have read the draft. The header in section 3 needs a name.", subject="Re: draft-x"
    )
    return read(
        first, mail(1, "bob", "Section 3 names it.", subject="Re: draft-x"), mail(2, by, words), profile=IETF
    ).outcome


@pytest.mark.parametrize(
    "words",
    [
        "The adoption call has ended, and the draft is adopted.",
        "The WGLC has concluded. We have consensus to publish.",
    ],
)
def test_a_chair_who_names_the_call_ends_it_though_its_opening_is_not_there(words: str) -> None:
    assert is_said(headless(words), OutcomeKind.ACCEPTED)
    assert headless(words, by="bob").tier is Tier.REMARK


@pytest.mark.parametrize(
    "words", ["We have consensus on the header.", "It was agreed to meet again.", "The WGLC is over."]
)
def test_a_chair_who_names_no_call_or_no_result_ends_none(words: str) -> None:
    assert headless(words).tier is Tier.REMARK


REPORT = (
    "I am the assigned reviewer for this draft. Section 4 should name the header, and the sender is unclear."
)
OFFER = "How about this text in section 4: a client sends the header once. It says who sends it, and when."


def of_review(*mails: str, opening: str = REPORT, profile: SourceProfile = IETF) -> ThreadOutcome:
    """Build a thread of the reviewer and an editor, who write in turn."""
    thread = [mail(0, "rev", opening, subject="Review of draft-x")]
    thread += [
        mail(
            number,
            "rev" if number % 2 == 0 else "edi",
            text,
            answers=number - 1,
            subject="Re: Review of draft-x",
        )
        for number, text in enumerate(mails, start=1)
    ]
    return read(*thread, profile=profile).outcome


@pytest.mark.parametrize(
    "words",
    [
        "That all works for me.",
        "This looks good to me.",
        "Thanks, that addresses my comments.",
        "I'm happy with the new text.",
        "Thanks a lot!",
    ],
)
def test_a_reviewer_who_is_content_with_the_words_offered_has_changed_the_text(words: str) -> None:
    outcome = of_review(OFFER, words)
    assert is_said(outcome, OutcomeKind.REVISED)
    assert outcome.rule == "content"


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (OFFER, "That works for me, but section 5 is still unclear."),
        (OFFER, "Thanks. And who receives it?"),
        (OFFER, "I will look at it next week."),
        ("The sender is a client, as section 3 says. The header is named there too.", "That works for me."),
        ("The sender is a client, as section 3 says. The header is named there too.", "Thanks!"),
    ],
)
def test_a_reviewer_who_asks_on_or_was_offered_nothing_has_changed_nothing(offer: str, words: str) -> None:
    assert of_review(offer, words).tier is Tier.REMARK


def test_others_who_write_on_leave_it_open() -> None:
    assert (
        of_review(OFFER, "That works for me.", "The working group has to see it first, I fear.").tier
        is Tier.REMARK
    )


def test_what_is_promised_and_thanked_for_in_a_few_mails_is_done_as_proposed() -> None:
    proposal = (
        "The name of the header in section 4 is not the one of the registry. Section 9 has the right one."
    )
    assert is_said(
        of_review("I'll change it in section 4.", "Thanks!", opening=proposal), OutcomeKind.ACCEPTED
    )
    assert of_review("I looked at section 4.", "Thanks!", opening=proposal).tier is Tier.REMARK
