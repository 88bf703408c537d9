"""The speech acts by which people take a position, and sentences that only sound like them."""

import pytest

from shared.models.values import PositionStance, Tier
from tests.support.thread_mails import GIT, IETF, mail, read, remarks, said

PROPOSAL = "I propose to move the build to a new server. It is faster. What do you all think?"
PATCH = "Keep the last line of a file that has no newline at its end."
SUBJECT = "[PATCH] parser: keep the last line"
CALL = "This is a call for adoption of the draft on cookies. Please indicate whether you support adoption."


def to_proposal(text: str) -> dict[str, str]:
    return said(read(mail(0, "prop", PROPOSAL), mail(1, "ann", text)))


def to_patch(text: str, who: str = "ann", **details: str) -> dict[str, str]:
    return said(
        read(mail(0, "pat", PATCH, subject=SUBJECT), mail(1, who, text, **details), profile=GIT)  # type: ignore[arg-type]
    )


def to_call(text: str) -> dict[str, str]:
    return said(read(mail(0, "chair@ietf.example", CALL), mail(1, "ann", text), profile=IETF))


@pytest.mark.parametrize(
    "text",
    [
        "I'm all for it.",
        "I am in favour.",
        "This has my full support.",
        "I vote to adopt it.",
        "I'm for this proposal.",
        "A big +1 from me.",
        "+1: the old one is too slow for us.",
        "I fully agree, it is high time.",
        "Totally agree.",
        "Hear, hear!",
        "\U0001f44d",
        "It is not my field, but this looks reasonable to me.",
        "I have not tried it, but the plan makes sense.",
        "Except for the date, this looks like a good plan.",
        "That would work for us.",
        "A welcome change.",
        "I think it is the right thing to do.",
        "Awesome, thanks!",
        "I can live with that.",
    ],
)
def test_support_of_a_proposal(text: str) -> None:
    assert to_proposal(text) == {"ann": "support"}


@pytest.mark.parametrize(
    "text",
    [
        "LGTM",
        "Thanks, this version looks great to me.",
        "I noticed a small typo in the message but otherwise looks good to me.",
        "Nice catch; looks good to me.",
        "The series is good to go.",
        "Acked-by: Ann <ann@list.example>",
        "Tested-by: Ann <ann@list.example>",
        "Ack.",
    ],
)
def test_approval_of_a_patch(text: str) -> None:
    assert to_patch(text) == {"ann": "support"}


@pytest.mark.parametrize(
    "text", ["No objections from me.", "I can live with it.", "Strong +1.", "I support adoption."]
)
def test_consent_where_the_group_was_asked(text: str) -> None:
    assert to_call(text) == {"ann": "support"}


@pytest.mark.parametrize(
    "text",
    [
        "No objection.",
        "I have no problem with the old server.",
        "It will be hard to convince me that moving the build is a good idea.",
        "But I also think that it is a good step in general.",
        "I wonder whether this is a good plan.",
        "It is a good idea to look at the licence before that.",
        "Good idea to ask here.",
        "Great, thanks! And who pays for the disks?",
        "The proposal looks good, but I would not move before the summer.",
        "Unless somebody looks after it, I support this proposal.",
        "Great news about the other server!",
    ],
)
def test_less_than_support_of_a_proposal(text: str) -> None:
    assert "support" not in to_proposal(text).values()


@pytest.mark.parametrize(
    "text",
    [
        "Agreed. You will not need the second loop.",
        "Part of the change is missing and will break the build. Otherwise it looks good.",
        "Please put the test first. Other than that, this looks good to me.",
        "Your series gives a lot of warnings when I applied it to the tree.",
        "It looks good in the preview.",
        "I did not expect a step like this. The patch itself looks reasonable, though.",
        "Thanks for the patch.",
    ],
)
def test_less_than_approval_of_a_patch(text: str) -> None:
    assert to_patch(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "NAK",
        "I am opposed to this change.",
        "I'd rather not merge this.",
        "This should not be merged.",
        "I object to this.",
    ],
)
def test_a_firm_no_to_a_patch(text: str) -> None:
    assert to_patch(text) == {"ann": "oppose"}


def test_a_maintainers_word_about_what_happens_on_a_condition_accepts_nothing() -> None:
    text = "When you resend it, put the list on copy and I will merge it."
    reading = read(mail(0, "pat", PATCH, subject=SUBJECT), mail(1, "juno@git.example", text), profile=GIT)
    assert said(reading) == {}
    assert reading.outcome.tier is Tier.REMARK


@pytest.mark.parametrize(
    "who", ["patchwork-bot+list@ci.example", "noreply@forge.example", "syzbot@ci.example"]
)
def test_a_program_takes_no_position(who: str) -> None:
    assert to_patch("This patch was applied. Applied, thanks!", who) == {}


def test_a_person_whose_name_ends_in_bot_is_no_program() -> None:
    assert to_patch("LGTM", "talbot@list.example") == {"talbot": "support"}


def test_in_a_release_notice_nothing_is_put() -> None:
    reading = read(
        mail(0, "rel", "I am pleased to announce release 3 of the tool.", subject="ANN: Tool 3"),
        mail(1, "ann", "I support this release, it looks like a great one."),
    )
    assert said(reading) == {}


def test_the_patch_that_answers_a_report_is_what_is_put() -> None:
    fix = "Does this help?\n\ndiff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-one\n+two\n"
    reading = read(
        mail(0, "rep", "The tool crashes on an empty file.", subject="[BUG] crash"),
        mail(1, "fix", fix, subject="Re: [BUG] crash"),
        mail(2, "ann", "The patch looks good to me.", answers=1, subject="Re: [BUG] crash"),
    )
    assert said(reading) == {"ann": "support"}
    assert reading.genre.kind == "report"


def test_praise_of_a_patch_by_its_name_counts_wherever_it_stands_but_under_another_patch() -> None:
    start = [
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "bob", "What does the second hunk do?"),
    ]
    praise = mail(2, "ann", "Pat's latest version looks good to me.", answers=1)
    assert said(read(*start, praise, profile=GIT)) == {"ann": "support"}
    other = (
        "How about this instead?\n\ndiff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1 +1 @@\n-one\n+two\n"
    )
    rival = [start[0], mail(1, "bob", other)]
    assert said(read(*rival, praise, profile=GIT)) == {}


def test_a_plus_one_follows_only_what_is_said() -> None:
    """The answered message agrees with a point only, so it has no stance to adopt."""
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "bob", "The wiki is slow."),
        mail(2, "cyn", "I agree with your point about the wiki.", answers=1),
        mail(3, "ann", "+1", answers=2),
    )
    assert said(reading) == {}


def test_praise_of_one_step_by_one_who_reviews_in_many_mails_is_a_remark() -> None:
    under = "Keep the last line of a file"
    review = "The loop is long. Its name is odd. Makes sense. A test is there. I ran it. Nothing else."
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "ann", review, under=under),
        mail(
            2,
            "ann",
            "The second step needs another name. It hides the first. The test says so. I read it all.",
        ),
        profile=GIT,
    )
    assert said(reading) == {}
    assert remarks(reading) == {"ann": "support"}


def test_who_sends_on_the_patch_of_another_stays_themselves() -> None:
    body = f"From: Ann Day <ann@list.example>\n\n{PATCH}"
    reading = read(
        mail(0, "pat", PATCH, subject="[PATCH 0/2] parser", name="Pat Lee"),
        mail(1, "pat", body, subject="[PATCH 1/2] parser: first", name="Pat Lee"),
        mail(2, "ann", "LGTM", answers=0, name="Ann Day"),
        mail(3, "bob", "LGTM", answers=0, name="Bob Oak"),
        profile=GIT,
    )
    assert said(reading) == {"bob": "support"}, "an author of a part is no voice, and neither is its sender"
    stances = [one.stance for one in reading.positions if one.person.startswith("bob")]
    assert stances == [PositionStance.SUPPORT]


def test_who_supports_a_patch_has_wishes_in_that_mail_and_no_objection() -> None:
    wish = "I don't think that this name is right, and the loop is confusing and wrong in the last line."
    opening = mail(0, "pat", PATCH, subject=SUBJECT)
    alone = read(opening, mail(1, "ann", wish))
    assert [one.citation.quote for one in alone.objections] == [wish]
    supporting = read(opening, mail(1, "ann", f"{wish}\n\nReviewed-by: Ann <ann@list.example>"))
    assert said(supporting) == {"ann": "support"}
    assert not supporting.objections
