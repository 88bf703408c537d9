"""The ends of threads: accepted changes, their authors and forms, and lookalikes."""

import pytest

from shared.models.values import ConsensusBasis, OutcomeKind, ThreadReading, Tier
from shared.reading.mails import ThreadMail, language_of
from tests.support.thread_mails import GIT, IETF, mail, read, said

PATCH = "Keep the last line of a file that has no newline at its end."
SUBJECT = "[PATCH] parser: keep the last line"
PROPOSAL = "I propose to drop the old tool from the tree. Comments are welcome."
JUNO = "juno@git.example"


def patch(*answers: ThreadMail, subject: str = SUBJECT) -> ThreadReading:
    return read(mail(0, "pat", PATCH, subject=subject), *answers, profile=GIT)


def ending(reading: ThreadReading) -> tuple[OutcomeKind, bool]:
    return reading.outcome.kind, reading.outcome.tier is Tier.SAID


@pytest.mark.parametrize("words", ["Thanks.", "Pulled, thanks.", "Thanks a lot!"])
def test_a_pull_request_that_is_answered_with_thanks_was_pulled(words: str) -> None:
    reading = patch(mail(1, JUNO, words), subject="[GIT PULL] changes to the gui")
    assert ending(reading) == (OutcomeKind.ACCEPTED, True)
    assert said(reading) == {"juno": "support"}


def test_thanks_for_a_patch_or_by_another_accept_nothing() -> None:
    assert not ending(patch(mail(1, JUNO, "Thanks.")))[1]
    assert not ending(patch(mail(1, "ann", "Thanks."), subject="[GIT PULL] changes to the gui"))[1]
    asked = patch(mail(1, JUNO, "Thanks. Did you run the tests?"), subject="[GIT PULL] changes")
    assert ending(asked) != (OutcomeKind.ACCEPTED, True)


def test_a_small_edit_while_committing_is_acceptance() -> None:
    reading = patch(mail(1, JUNO, "I will fix the title while committing."))
    assert ending(reading) == (OutcomeKind.ACCEPTED, True)


def test_what_is_said_of_somebody_elses_work_accepts_nothing_here() -> None:
    reading = patch(mail(1, JUNO, "Ann's work on the base is well done, so let's merge it down soon."))
    assert not ending(reading)[1]
    assert said(reading) == {}


def test_acceptance_of_a_rival_patch_in_the_thread_is_not_acceptance_of_the_first() -> None:
    rival = mail(1, "bob", PATCH, subject="[PATCH] parser: another way")
    reading = patch(rival, mail(2, JUNO, "Will queue.", answers=1))
    assert not ending(reading)[1]
    assert said(reading) == {}


@pytest.mark.parametrize(
    "words", ["Patches 2-4 have been applied; the first one is postponed.", "Applied with some changes."]
)
def test_a_part_or_a_changed_form_is_not_said_to_be_accepted(words: str) -> None:
    assert ending(patch(mail(1, JUNO, words))) != (OutcomeKind.ACCEPTED, True)


def test_an_acceptance_that_is_doubted_after_it_is_not_said() -> None:
    accepted = mail(1, JUNO, "Will queue.")
    assert ending(patch(accepted))[1]
    doubted = mail(2, "ann", "I am worried that this breaks the build.", answers=1)
    heard = mail(3, "pat", "It may.", answers=2)
    assert not ending(patch(accepted, doubted, heard))[1]
    assert ending(patch(accepted, doubted))[1], "nobody took it up"


def test_a_second_version_is_a_changed_form_only_if_somebody_spoke_before_it() -> None:
    second = mail(1, "pat", PATCH, subject="[PATCH v2] parser: keep the last line")
    taken = mail(2, JUNO, "Will queue.", answers=1)
    assert ending(patch(second, taken)) == (OutcomeKind.ACCEPTED, True)
    remark = mail(1, "ann", "The name of the loop is odd.")
    later = mail(2, "pat", PATCH, subject="[PATCH v2] parser: keep the last line")
    assert ending(patch(remark, later, mail(3, JUNO, "Will queue.", answers=2))) == (
        OutcomeKind.REVISED,
        True,
    )


def test_trailers_of_several_and_of_all_who_spoke_carry_a_patch() -> None:
    acks = [
        mail(n, who, f"Acked-by: {who.title()} <{who}@list.example>")
        for n, who in enumerate(["ann", "bob"], 1)
    ]
    reading = patch(*acks)
    assert ending(reading) == (OutcomeKind.ACCEPTED, True)
    assert reading.basis is ConsensusBasis.COUNTED
    assert reading.outcome.authority is None
    assert reading.has_consensus
    assert ending(patch(*acks, mail(3, "cyn", "What does the second hunk do?")))[1]
    assert not ending(patch(*acks, mail(3, "cyn", "I am not sure that the second hunk is right.")))[1]
    assert not ending(patch(acks[0]))[1], "one alone is no group"


def test_that_nobody_was_seen_to_take_a_patch_is_no_outcome() -> None:
    """Only about six in ten such threads were left open: others accept in their own words."""
    reading = patch(mail(1, "ann", "I'm not sure that the loop ends. What about an empty file?"))
    assert ending(reading) == (OutcomeKind.UNRESOLVED, False)


def test_a_chair_who_declares_consensus_in_their_role_rules_without_a_formal_call() -> None:
    start = [mail(0, "prop", PROPOSAL), mail(1, "ann", "I support this proposal.")]
    ruling = "As chair: there is clear agreement. Consensus is declared; please put it into the next version."
    ruled = read(*start, mail(2, "chair@ietf.example", ruling), profile=IETF)
    assert ending(ruled) == (OutcomeKind.ACCEPTED, True)
    assert ruled.outcome.authority is not None
    same = read(*start, mail(2, "bob", ruling), profile=IETF)
    assert same.outcome.tier is Tier.REMARK


def test_a_promise_in_answer_to_a_report_accepts_nothing() -> None:
    report = (
        "Three of us met last weekend. The receipts passed in all directions. The draft says nothing of it."
    )
    reading = read(
        mail(0, "rep", report, subject="Results"),
        mail(1, "ed", "Thank you! I will fix the text."),
        profile=IETF,
    )
    assert reading.outcome.sentence == "No decision found."
    assert not reading.has_consensus


def test_voices_are_no_consensus_while_a_remark_against_it_stands() -> None:
    voices = [mail(1, "ann", "I support this proposal."), mail(2, "bob", "I support this proposal.")]
    agreed = read(mail(0, "prop", PROPOSAL), *voices)
    assert agreed.has_consensus
    doubt = "I don't think we should drop it, because the problem with the new one is that it breaks the old files."
    open_still = read(mail(0, "prop", PROPOSAL), *voices, mail(3, "cyn", doubt))
    assert open_still.objections
    assert not open_still.has_consensus


def test_names_addresses_and_trailers_are_in_no_language() -> None:
    """A trailer with a company's address can look like Portuguese. Its support must still count."""
    assert language_of("Acked-by: Gero Jung <gero@suse.com>\n\n\nGero da Maia com os mais") == "und"
    assert (
        language_of("Ich habe das geprüft und bin nicht sicher, ob wir das so wollen, aber es geht.") == "de"
    )
    reading = patch(mail(1, "gero@suse.com", "Acked-by: Gero Jung <gero@suse.com>\n\n\nGero Jung com"))
    assert said(reading) == {"gero": "support"}


def test_a_promise_under_the_proposers_name_and_another_address_is_not_the_proposers() -> None:
    """Anyone can write a name, so such a message is not the author's promise."""
    patch_mail = mail(0, "pat@work.example", PATCH, subject=SUBJECT, name="Pat Lee")
    promise = mail(1, "pl@home.example", "I will change the name of the loop.", name="Pat Lee")
    taken = mail(2, JUNO, "Will queue.")
    assert ending(read(patch_mail, taken, profile=GIT)) == (OutcomeKind.ACCEPTED, True)
    assert ending(read(patch_mail, promise, taken, profile=GIT)) == (OutcomeKind.ACCEPTED, True)


def test_what_a_maintainer_will_do_once_something_happens_is_not_done() -> None:
    reading = patch(mail(1, JUNO, "Once somebody acks it, I will take it."))
    assert not ending(reading)[1]
    assert said(reading) == {}


def test_a_promise_of_something_besides_accepts_nothing() -> None:
    wish = "I suggest that section 4 states that audio is included."
    done = read(mail(0, "prop", wish), mail(1, "ed", "Thanks, I will update the document."))
    assert ending(done) == (OutcomeKind.ACCEPTED, True)
    besides = read(mail(0, "prop", wish), mail(1, "ed", "I will also add an overview."))
    assert not ending(besides)[1]
