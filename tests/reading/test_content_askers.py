"""Words with which a person who asked is content, and words that only look similar."""

import pytest

from shared.models.values import OutcomeKind, ThreadOutcome, Tier
from tests.support.thread_mails import mail, read

SUBJECT = "How to read the last line?"
QUESTION = "How do I read the last line of a file? I am trying to use the reader and it stops early."
ANSWER = (
    "You have to call flush before you read from the file again. "
    "The reader keeps the rest in its buffer until then."
)
CONTENT = [
    "That worked, thanks!",
    "It works now.",
    "It's working now, thank you.",
    "That did it.",
    "That did the trick, thanks.",
    "That solved my problem.",
    "This solves the problem.",
    "Installing it solves the problem.",
    "Problem solved.",
    "I found the problem: a stray file.",
    "Found it, it was a typo in my script.",
    "I figured it out, thanks.",
    "That was it, thanks.",
    "Works like a charm, thank you!",
    "Works perfectly.",
    "That's exactly what I needed.",
    "That is exactly what I was looking for, thanks.",
    "That answers my question.",
    "Perfect, thanks!",
    "Thanks, that helped.",
    "Thank you for the explanation.",
    "Thanks for the quick answer!",
    "Thanks a lot for your help.",
    "Ah, that makes sense now, thanks.",
    "Now I understand.",
    "Never mind, I found it.",
    "Thanks, that fixed it.",
    "Great, that fixes it.",
    "It was my own mistake.",
    "Thanks, I missed that in the manual.",
    "Calling flush fixed it for me.",
    "Cool, thanks!",
    "Got it, thanks.",
    "OK, thanks for clearing that up.",
    "Excellent, thank you.",
]
NOT_CONTENT = [
    "That did not work.",
    "It still does not work.",
    "Thanks, but it does not work.",
    "Does that work on all systems?",
    "It works now, but the second line is lost.",
    "I tried that and got nothing.",
    "Thanks, I will try that.",
    "Turns out that it fails on other files, too.",
    "I found another problem.",
    "It would be perfect if it worked.",
    "Thanks for the answer, but what about the first line?",
    "Is there another way?",
    "That might work.",
    "I hope that this solves the problem.",
    "It works for others, not for me.",
    "Thank you for your time, I will not discuss this any further.",
    "Thanks in advance.",
    "It worked before the update.",
    "I have not figured it out yet.",
]


def after(words: str, *, by: str = "asker", then: str = "") -> ThreadOutcome:
    mails = [
        mail(0, "asker", QUESTION, subject=SUBJECT),
        mail(1, "bob", ANSWER, subject=f"Re: {SUBJECT}"),
        mail(2, by, words, answers=1, subject=f"Re: {SUBJECT}"),
    ]
    if then:
        mails.append(mail(3, "cyn", then, answers=2, subject=f"Re: {SUBJECT}"))
    return read(*mails).outcome


@pytest.mark.parametrize("words", CONTENT)
def test_who_asked_is_content(words: str) -> None:
    outcome = after(words)
    assert (outcome.kind, outcome.tier) == (OutcomeKind.ANSWERED, Tier.SAID)


@pytest.mark.parametrize("words", NOT_CONTENT)
def test_who_asked_is_not_content(words: str) -> None:
    assert after(words).tier is Tier.REMARK


def test_thanks_for_an_answer_settle_it_though_others_write_on() -> None:
    thanks = "Thanks for the quick answer!"
    assert after(thanks).tier is Tier.SAID
    assert after(thanks, then="It also stands in the manual.").tier is Tier.SAID
    assert after(thanks, then="That is wrong, it does not do that at all.").tier is Tier.REMARK
    assert after(thanks, then="Does it happen with the new one, too?").tier is Tier.REMARK


@pytest.mark.parametrize(
    "text",
    [
        "No thanks.",
        "Thanks for nothing.",
        "Thanks, no luck.",
        "Thanks, I still get the error.",
        "Thanks, that made it worse.",
        "Thanks, I am going to file a bug.",
        "Thanks, I'll have a go tomorrow.",
    ],
)
def test_thanks_of_one_who_is_not_content_settle_nothing(text: str) -> None:
    assert after(text).tier is Tier.REMARK
    assert after("That solved my problem.", then="Good to hear that.").tier is Tier.SAID


def test_who_is_content_has_no_question_left_and_their_thanks_are_the_evidence() -> None:
    re = f"Re: {SUBJECT}"
    start = [
        mail(0, "asker", QUESTION, subject=SUBJECT),
        mail(1, "bob", ANSWER, subject=re),
        mail(2, "asker", "I call flush. Do you have any other recommendations?", answers=0, subject=re),
    ]
    thanks = mail(3, "asker", "Thanks for this insight. I ended up with a loop.", answers=1, subject=re)
    open_then = read(*start).open_issues
    assert [one.quote for one in open_then] == ["Do you have any other recommendations?"]
    reading = read(*start, thanks)
    assert (reading.outcome.kind, reading.outcome.tier) == (OutcomeKind.ANSWERED, Tier.SAID)
    assert [one.quote for one in reading.outcome.evidence] == ["Thanks for this insight."]
    assert reading.open_issues == ()
