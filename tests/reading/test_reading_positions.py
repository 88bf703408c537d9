"""Positions: people, places, trailers, chains, second thoughts."""

import pytest

from shared.models.values import Genre, PositionStance, Tier
from tests.support.thread_mails import GIT, IETF, mail, read, remarks, said

PROPOSAL = "I propose to drop the old tool from the tree. Comments are welcome."
PATCH = "Keep the last line of a file that has no newline at its end."
SUBJECT = "[PATCH] parser: keep the last line"


def test_the_proposer_is_no_voice() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "Should we not keep it for a year?"),
        mail(2, "prop", "I support this proposal.", answers=0),
    )
    assert said(reading) == {}


def test_the_author_under_two_addresses_is_one_person() -> None:
    reading = read(
        mail(0, "pat.lee@work.example", PATCH, subject=SUBJECT, name="Pat Lee"),
        mail(1, "pl@home.example", "Looks good to me.", name="Lee, Pat"),
        profile=GIT,
    )
    assert said(reading) == {}


def test_the_author_behind_a_gateway_is_no_voice() -> None:
    reading = read(
        mail(
            0,
            "gateway@git.example",
            f"From: Pat Lee <pl@home.example>\n\n{PATCH}",
            subject=SUBJECT,
            name="Pat Lee via Gateway",
        ),
        mail(1, "pl@home.example", "This version looks good to me.", name="P. L."),
        profile=GIT,
    )
    assert said(reading) == {}


def test_a_gateways_address_joins_no_two_people() -> None:
    reading = read(
        mail(0, "gateway@git.example", PATCH, subject=SUBJECT, name="Pat Lee via Gateway"),
        mail(
            1,
            "gateway@git.example",
            "Looks good to me.",
            name="Sue Ray via Gateway",
            subject=f"Re: {SUBJECT}",
        ),
        profile=GIT,
    )
    assert list(said(reading).values()) == ["support"]


@pytest.mark.parametrize(
    ("trailer", "expected"),
    [
        ("Reviewed-by: Ann Day <ann@list.example>", {"ann": "support"}),
        ("Acked-by: Ann Day <ann@other.example>", {"ann": "support"}),
        ("Nacked-by: Ann Day <ann@list.example>", {"ann": "oppose"}),
        ("Reviewed-by: Bob Oak <bob@list.example>", {}),
    ],
)
def test_a_trailer_counts_only_with_the_senders_own_name(trailer: str, expected: dict[str, str]) -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT), mail(1, "ann", trailer, name="Ann Day"), profile=GIT
    )
    assert said(reading) == expected


def test_trailers_that_a_patch_carries_are_nobodys_word() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(
            1, "pat", f"{PATCH}\n\nReviewed-by: Pat <pat@list.example>", subject="[PATCH v2] parser: keep it"
        ),
        profile=GIT,
    )
    assert said(reading) == {}


def test_a_plus_one_to_a_supporter_follows_the_supporter() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "bob", "I support this proposal."),
        mail(2, "ann", "+1", answers=1),
    )
    assert said(reading) == {"bob": "support", "ann": "support"}


def test_who_says_both_is_mixed_and_counts_for_neither() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "I support this proposal. Now that I have read it all, I object to this."),
    )
    assert said(reading) == {}
    assert remarks(reading) == {"ann": "mixed"}
    assert not reading.has_consensus


@pytest.mark.requirement("R-510")
def test_later_words_outweigh_earlier_doubts() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "ann", "I don't think I understand the loop. I'm not sure it ends. My concern is the last line. "
                       "I doubt the test. I don't like the name."),
        mail(2, "pat", f"{PATCH} Now with a better test.", subject="[PATCH v2] parser: keep the last line"),
        mail(3, "ann", "This version looks good to me.", answers=2),
        profile=GIT,
    )  # fmt: skip
    assert said(reading) == {"ann": "support"}


def test_praise_followed_by_a_long_row_of_doubts_is_only_a_remark() -> None:
    reading = read(
        mail(0, "pat", PATCH, subject=SUBJECT),
        mail(1, "ann", "Looks good to me. I'm not sure about the loop. I don't like the name. I doubt the test. "
                       "I don't see why it ends."),
        profile=GIT,
    )  # fmt: skip
    assert said(reading) == {}
    assert remarks(reading) == {"ann": "support"}


def test_an_answer_names_the_mail_it_answers_and_its_sentence() -> None:
    first = mail(0, "prop", PROPOSAL)
    second = mail(1, "ann", "Hello all,\n\nI support this proposal.\n\nAnn")
    position = next(iter(read(first, second).positions))
    assert position.answers == first.message_id
    assert second.text[position.citation.start : position.citation.end] == "I support this proposal."
    assert position.stance is PositionStance.SUPPORT
    assert position.confidence >= 0.9


def test_what_stands_under_a_quote_answers_the_quoted_mail() -> None:
    """The patch is the parent, but the quoted words are from the message before it."""
    remark = "The wiki should get a new theme before the summer."
    thread = [mail(0, "bob", remark, subject="The wiki"), mail(1, "pat", PATCH, subject=SUBJECT)]
    to_the_remark = mail(2, "ann", "Sounds good to me.", answers=1, under=remark)
    to_the_patch = mail(2, "ann", "Sounds good to me.", answers=1, under=PATCH)
    assert said(read(*thread, to_the_remark, profile=GIT)) == {}
    assert said(read(*thread, to_the_patch, profile=GIT)) == {"ann": "support"}


def test_a_maintainer_who_brings_the_patch_does_not_accept_it() -> None:
    reading = read(
        mail(0, "juno@git.example", PATCH, subject=SUBJECT),
        mail(1, "ann", "The name is misleading."),
        mail(2, "juno@git.example", "Will queue.", answers=1),
        profile=GIT,
    )
    assert said(reading) == {}
    assert reading.outcome.authority is None


def test_in_a_call_support_of_the_thing_asked_for_is_a_position() -> None:
    reading = read(
        mail(0, "chair@ietf.example", "We would like to hear whether people support early code points."),
        mail(1, "ann", "I support early code points for these curves."),
        mail(2, "bob", "Agreed.", answers=1),
        profile=IETF,
    )
    assert said(reading) == {"ann": "support", "bob": "support"}


def test_a_firm_no_to_the_proposition_is_said_a_soft_one_is_quoted() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "I object to this proposal."),
        mail(2, "bob", "The disks are old. I don't think this is the right way."),
    )
    assert said(reading) == {"ann": "oppose"}
    assert remarks(reading) == {"bob": "oppose"}


def test_one_who_can_do_it_and_says_so_is_for_it() -> None:
    reading = read(
        mail(0, "prop", "I suggest that section 4 states that audio is included."),
        mail(1, "ed", "Thanks, I will update the document."),
    )
    assert said(reading) == {"ed": "support"}


def test_a_signature_line_of_ones_own_name_is_no_sentence() -> None:
    reading = read(mail(0, "prop", PROPOSAL), mail(1, "ann", "+1\n\nAnn Day", name="Ann Day"))
    assert all("Ann Day" not in one.quote for one in reading.key_points)


def test_every_remark_has_less_confidence_than_what_is_said() -> None:
    reading = read(
        mail(0, "prop", PROPOSAL),
        mail(1, "ann", "I support this proposal."),
        mail(2, "bob", "The disks are old. I don't think this is the right way."),
    )
    by_tier = {one.tier: one.confidence for one in reading.positions}
    assert by_tier[Tier.SAID] > by_tier[Tier.REMARK]


def test_later_words_outweigh_earlier_ones_and_the_earlier_stance_is_kept() -> None:
    objection = mail(1, "ann", "I object to this proposal, it breaks the build.")
    content = mail(2, "ann", "I support this proposal now.")
    reading = read(mail(0, "prop", PROPOSAL), objection, content)
    (position,) = reading.positions
    assert (position.stance, position.tier) == ("support", Tier.SAID)
    assert position.earlier is not None
    assert (position.earlier.stance, position.earlier.at) == ("oppose", objection.date)
    assert position.earlier.citation.quote == "I object to this proposal, it breaks the build."


def test_an_objection_that_its_owner_withdraws_is_no_position_any_more() -> None:
    objected = mail(0, "prop", PROPOSAL), mail(1, "ann", "I object to this proposal.")
    assert said(read(*objected)) == {"ann": "oppose"}
    withdrawn = read(*objected, mail(2, "ann", "I withdraw my objection."))
    assert (said(withdrawn), remarks(withdrawn)) == ({}, {})
    for others_word in ("He may withdraw my objection?", "I do not withdraw my objection."):
        assert said(read(*objected, mail(2, "ann", others_word))) == {"ann": "oppose"}
    assert said(read(*objected, mail(2, "bob", "I withdraw my objection."))) == {"ann": "oppose"}


def test_who_says_both_at_once_or_goes_to_and_fro_is_mixed() -> None:
    objection, support = "I object to this proposal.", "I support this proposal."
    at_once = read(mail(0, "prop", PROPOSAL), mail(1, "ann", f"{objection}\n\n{support}"))
    assert said(at_once) == {}
    to_and_fro = read(
        mail(0, "prop", PROPOSAL),
        *(mail(number, "ann", text) for number, text in enumerate([support, objection, support], start=1)),
    )
    assert said(to_and_fro) == {}
    assert all(one.earlier is None for one in (*at_once.positions, *to_and_fro.positions))


def test_a_change_with_a_sign_off_is_a_patch_whatever_its_tag() -> None:
    diff = "\n--- a/parser.c\n+++ b/parser.c\n@@ -1 +1 @@\n-one\n+two\n"
    signed = f"{PATCH}\n\nSigned-off-by: Pat <pat@list.example>\n---\n{diff}"
    answer = mail(1, "ann", "Reviewed-by: Ann <ann@list.example>")
    reading = read(mail(0, "pat", signed, subject="[builder v2] parser: keep the last line"), answer)
    assert (reading.genre.kind, reading.genre.tier) == (Genre.PATCH, Tier.SAID)
    assert said(reading) == {"ann": "support"}
    quoted = read(mail(0, "pat", f"What does this do?\n{diff}", subject="A question"), answer)
    assert said(quoted) == {}
