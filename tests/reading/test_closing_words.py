"""Words with which a role holder ends a call, a vote or a review, and words that only look similar."""

import pytest

from shared.models.values import OutcomeKind, ThreadOutcome, Tier
from tests.support.thread_mails import GIT, IETF, MAVEN, mail, read

CHAIR = "chair@ietf.example"
ADOPTION = (
    "This starts a two week call for adoption of draft-smith-example. "
    "Please reply by 31 January 2024 and say whether you support adoption or object."
)
LAST_CALL = (
    "This is a working group last call on draft-ietf-example. Please send comments by 31 January 2024."
)
BALLOT = "We solved 8 issues.\n\nVote open for at least 72 hours.\n\n[ ] +1\n[ ] +0\n[ ] -1"
ADOPTED = [
    "The call for adoption has ended. There was support and there were no objections, so the draft is adopted.",
    "This adoption call has now closed. We have rough consensus to adopt the document. Authors, please resubmit it as draft-ietf-example-smith-00.",
    "The adoption call has concluded with support and no objections.",
    "Thanks for all the feedback. The chairs see consensus to adopt this draft.",
    "The WG has adopted this document.",
    "The working group has agreed to adopt draft-smith-example.",
    "There is consensus for adoption.",
    "We have good support and no objections. The document is now a WG document.",
    "Based on the responses, this document is adopted as a working group item.",
    "Draft-smith-example has been adopted by the working group.",
    "The call is closed: adopted.",
    "Consensus call closed: the draft is adopted.",
    "Authors, please submit a draft-ietf-example-smith-00 version.",
    "Please resubmit the draft as draft-ietf-example-smith-00.",
    "The chairs have decided to adopt the document.",
    "Since there were no objections, we will adopt the document.",
    "This call has ended with strong support. The chairs conclude that the WG wants to adopt it.",
    "There seems to be enough support to adopt this draft, so it is adopted.",
    "Hearing no objections, the draft is adopted.",
    "The draft is accepted as a WG item.",
    "The working group adopts this document.",
    "This draft is now a working group document.",
    "We've got consensus for adopting this as a WG item.",
    "The adoption call has finished, and the result is to adopt the draft.",
    "Adopted. Authors, please resubmit.",
    "We'll go ahead with adoption.",
    "Chairs have determined that there is consensus to adopt.",
]
TURNED_DOWN = [
    "The call for adoption has ended. There is not enough support to adopt the draft.",
    "There is no consensus to adopt this document.",
    "The chairs conclude that there is no consensus for adoption at this time.",
    "The document is not adopted.",
    "We did not see sufficient support for adoption.",
    "The call has ended without consensus, and the draft is not adopted.",
    "There is no support for adopting this document, so we will not proceed.",
    "The draft is not going to be adopted.",
    "We don't have consensus to adopt.",
    "The chairs have determined that there isn't consensus to adopt this work.",
]
CALL_GOES_ON = [
    "If there are no objections, the draft is adopted on Friday.",
    "I hope that the draft is adopted soon.",
    "Has the document been adopted?",
    "The other draft is adopted, this one is not yet.",
    "I do not think that there is consensus to adopt it yet, so the call is extended.",
    "The call is extended by one week.",
    "The adoption call ends on Friday.",
    "When the call has ended, the chairs will judge the consensus.",
    "Once adopted, please resubmit it as draft-ietf-example-smith.",
    "He says there is consensus for adoption.",
    "The chairs will look for consensus to adopt.",
    "We need more support before we can adopt this.",
    "Please say whether the draft should be adopted.",
    "We are considering adopting this draft.",
    "The other working group has adopted a similar document.",
    "We will go ahead and extend the call by one week.",
    "Do we have consensus to adopt?",
    "We plan to adopt it unless somebody objects.",
]
PUBLISHED = [
    "The last call has ended. No comments were received, and the document will be sent to the IESG.",
    "The WGLC has concluded. The document is ready for publication.",
    "The working group last call is over. I will prepare the shepherd write-up and request publication.",
    "WGLC has ended. We have consensus to publish. I'll submit the publication request.",
    "This concludes the working group last call. The document moves on to the IESG.",
    "The last call has completed and there is consensus to move the draft forward.",
    "The chairs believe this document is ready to go to the IESG.",
    "WGLC passed, I will start the shepherd write-up.",
    "No issues were raised during WGLC, so I'm sending this to the AD.",
    "This WGLC is now closed. Thanks for the reviews. The draft is going to the IESG.",
    "The document is being advanced to the IESG.",
    "The draft passed last call.",
]
SENT_BACK = [
    "The last call has ended. Authors, please post a new version that addresses the comments.",
    "The WGLC is closed. A new revision is needed before the document goes to the IESG.",
    "The last call has concluded. Please update the draft with the comments received, and then we will send it to the IESG.",
    "The last call ended. Can the editors please prepare a new revision with the changes discussed.",
]
PASSED = [
    "The vote passes with three binding +1 votes.",
    "This vote has passed, thanks to all who voted.",
    "The vote is closed. It passes with 3 +1 (binding) and no other votes.",
    "The vote has been successful, I will publish the release.",
    "Vote passed with 4 binding +1.",
    "Hi, the result of the vote: +1 from Ann, Bob and Cyn. The motion passes.",
    "The release has been approved with 3 binding votes.",
    "I am closing this vote. It passed with 3 +1 and no -1.",
    "Vote result: 3 binding +1, no -1. The release is approved.",
    "With 3 binding +1 votes and no -1 the vote is accepted.",
    "The vote succeeded.",
    "The vote carries.",
    "This vote is now closed with 3 binding +1s, I'll publish the release.",
    "Closing the vote: 3 x +1, 0 x -1. Passed.",
    "Vote results: 3 binding +1. I'll promote the artifacts.",
    "I will promote the artifacts to the central repo.",
]
FAILED = [
    "I am cancelling this vote, a file is missing.",
    "The vote is cancelled.",
    "Vote cancelled due to the missing licence.",
    "This vote has failed.",
    "The vote does not pass: there is one -1 that was not withdrawn.",
    "I withdraw this vote and will prepare a new candidate.",
    "Closing this vote as failed.",
    "I'm cancelling the release, a new candidate follows.",
    "I'll cut a new release candidate with the fix, so this vote is void.",
    "VOTE CANCELLED",
    "I'll respin.",
    "I'll cancel and respin.",
    "Cancelling, I will roll a new release candidate.",
    "Rolling RC3 now.",
    "I'm rolling a new RC.",
    "I'll roll back the release and restart it.",
    "I'm stopping this vote, a new candidate will follow.",
    "Good catch, I'll drop this release and stage another.",
    "I will re-roll the release with that fix.",
    "I'm pulling this release candidate.",
    "Let's cancel this one.",
    "This vote is closed: it did not get enough votes.",
    "I'm closing this vote: there were not enough binding votes.",
]
VOTE_GOES_ON = [
    "Has the vote passed?",
    "The vote has not passed yet.",
    "The vote will pass when there are three votes.",
    "If nobody objects by Friday, the vote passes.",
    "The last vote was cancelled, here is the new candidate.",
    "I will cancel the vote if that is a blocker.",
    "The previous vote has passed, so this one is about the site.",
    "Should I cancel the vote?",
    "The vote stays open until Friday.",
    "The build passed with flying colours.",
    "We still need one more vote to pass.",
    "I'll respin if needed.",
    "Should I respin?",
    "I can respin the release if you want.",
    "I would not cancel the vote for that.",
    "Not a reason to cancel the vote.",
    "No need to respin.",
    "I'd rather not respin for this.",
    "We can fix this in the next release, no need to cancel.",
    "I'll promote the artifacts when the vote is over.",
]
TAKEN = [
    "Applied, thanks.",
    "Applied to next, thanks!",
    "Thanks, applied.",
    "Applied to master.",
    "Queued for 5.10, thanks.",
    "Pushed to master.",
    "Committed as r1234, thanks.",
    "Merged as 1a2b3c4d.",
    "Picked up for v5.9.",
    "I've applied this to my tree.",
    "Patch applied.",
    "Applied.  Thanks for the fix!",
    "Queued up, thanks.",
    "I have queued this up for the next merge window.",
    "Landed in trunk.",
    "Merged, thank you.",
    "Merged to staging.",
    "Thanks! I've picked this up.",
    "I've pushed this to master.",
    "Thank you, applied!",
    "Okay, pushed.",
    "Good catch, applied with thanks.",
    "Will apply.",
    "I'll take this through my tree.",
    "Looks good to me, I'll apply it later today.",
    "Just pushed it.",
    "Applied and pushed, thanks.",
    "Series applied, thanks.",
    "Pulled, thanks.",
    "Will queue this patch as is for now, but I suspect that the whole page needs a revamp.",
    "Just to tie the loose end, let me queue this and merge it to 'next'.",
    "Let's queue it, see what happens, and then think about longer-term plans.",
]
NOT_TAKEN = [
    "I have not applied this yet.",
    "This was applied to the wrong branch.",
    "Has this been applied?",
    "I applied this locally and the tests fail.",
    "Please apply it on top of master.",
    "Once it is reviewed I will apply it.",
    "It does not apply to master.",
    "I would apply it if it had a test.",
    "Will take a look and then queue.",
    "With these patches applied, the test fails.",
    "I merged your branch for a test, and it crashed.",
    "Somebody applied it before.",
    "I'd rather not queue this.",
    "Was this merged?",
    "Let's see how others react and then queue.",
    "I tried to apply this, but it conflicts.",
    "When I applied it, the build broke.",
    "I will not apply this.",
]


def after_call(words: str, *, call: str = ADOPTION, by: str = CHAIR) -> ThreadOutcome:
    opening = mail(0, CHAIR, call, subject="Call: draft-smith-example")
    return read(
        opening, mail(1, "ann", "I support this draft."), mail(2, by, words, day=30), profile=IETF
    ).outcome


def after_vote(words: str, *, by: str = "rita@apache.example") -> ThreadOutcome:
    opening = mail(0, "rita@apache.example", BALLOT, subject="[VOTE] Release Apache Thing 1.2")
    return read(opening, mail(1, "ann@apache.example", "+1"), mail(2, by, words), profile=MAVEN).outcome


def after_patch(words: str, *, by: str = "juno@git.example") -> ThreadOutcome:
    text = "Keep the last line of a file that has no newline at its end."
    patch = mail(0, "pat", text, subject="[PATCH] parser: keep the last line")
    return read(patch, mail(1, by, words), profile=GIT).outcome


def is_said(outcome: ThreadOutcome, kind: OutcomeKind) -> bool:
    return outcome.kind is kind and outcome.tier is Tier.SAID


@pytest.mark.parametrize("words", ADOPTED)
def test_a_chair_tells_that_it_is_adopted(words: str) -> None:
    assert is_said(after_call(words), OutcomeKind.ACCEPTED)
    assert after_call(words, by="bob").tier is Tier.REMARK


@pytest.mark.parametrize("words", TURNED_DOWN)
def test_a_chair_tells_that_it_is_not_adopted(words: str) -> None:
    assert is_said(after_call(words), OutcomeKind.REJECTED)
    assert after_call(words, by="bob").tier is Tier.REMARK


@pytest.mark.parametrize("words", CALL_GOES_ON)
def test_words_about_the_end_of_a_call_do_not_end_it(words: str) -> None:
    assert after_call(words).tier is Tier.REMARK


@pytest.mark.parametrize("words", ["The call has ended.", "The last call is now closed, thanks to all."])
def test_that_a_call_is_over_tells_nothing_of_its_result(words: str) -> None:
    assert after_call(words).tier is Tier.REMARK
    assert after_call(words, call=LAST_CALL).tier is Tier.REMARK


@pytest.mark.parametrize("words", PUBLISHED)
def test_a_last_call_ends_with_the_text_as_it_is(words: str) -> None:
    assert is_said(after_call(words, call=LAST_CALL), OutcomeKind.ACCEPTED)


@pytest.mark.parametrize("words", SENT_BACK)
def test_a_last_call_ends_with_a_new_version_to_come(words: str) -> None:
    assert is_said(after_call(words, call=LAST_CALL), OutcomeKind.REVISED)


@pytest.mark.parametrize("words", PASSED)
def test_who_called_a_vote_tells_that_it_passed(words: str) -> None:
    assert is_said(after_vote(words), OutcomeKind.ACCEPTED)
    assert after_vote(words, by="dan").tier is Tier.REMARK


@pytest.mark.parametrize("words", FAILED)
def test_who_called_a_vote_tells_that_it_failed(words: str) -> None:
    assert is_said(after_vote(words), OutcomeKind.REJECTED)
    assert after_vote(words, by="dan").tier is Tier.REMARK


@pytest.mark.parametrize("words", VOTE_GOES_ON)
def test_words_about_the_end_of_a_vote_do_not_end_it(words: str) -> None:
    assert after_vote(words).tier is Tier.REMARK


@pytest.mark.parametrize(
    "words",
    [
        "Nobody had any concerns, so I went ahead and renamed it.",
        "No-one objected, so I have merged it.",
        "There were no objections, so I've renamed the repository today.",
        "Hearing no objections, we have removed it.",
    ],
)
def test_who_put_it_tells_that_it_was_done_unopposed(words: str) -> None:
    opening = mail(0, "prop", "Barring any objections, I would like to rename the tool.")
    answer = mail(1, "ann", "Which name will it have?")
    done = read(opening, answer, mail(2, "prop", words)).outcome
    assert is_said(done, OutcomeKind.ACCEPTED)
    assert done.authority is None
    assert read(opening, answer, mail(2, "bob", words)).outcome.tier is Tier.REMARK
    against = mail(1, "ann", "I object to this proposal.")
    assert not is_said(read(opening, against, mail(2, "prop", words)).outcome, OutcomeKind.ACCEPTED)


@pytest.mark.parametrize(
    "words",
    [
        "If nobody has any concerns, I will rename it.",
        "I hope nobody objected, so I may rename it.",
        "Nobody had any concerns about the old name.",
    ],
)
def test_what_would_be_done_unopposed_is_not_done(words: str) -> None:
    opening = mail(0, "prop", "Barring any objections, I would like to rename the tool.")
    assert not is_said(read(opening, mail(1, "prop", words)).outcome, OutcomeKind.ACCEPTED)


@pytest.mark.parametrize("words", TAKEN)
def test_a_maintainer_takes_a_patch(words: str) -> None:
    assert is_said(after_patch(words), OutcomeKind.ACCEPTED)
    assert after_patch(words, by="bob").authority is None


@pytest.mark.parametrize("words", NOT_TAKEN)
def test_a_maintainer_who_tries_or_waits_takes_nothing(words: str) -> None:
    assert not is_said(after_patch(words), OutcomeKind.ACCEPTED)
