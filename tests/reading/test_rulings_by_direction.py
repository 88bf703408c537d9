"""The direction of a role holder's closing message, relative to the call, in the words of many lists."""

import pytest

from evaluation.consensus_corpus import read_profile
from shared.models.values import OutcomeKind, ThreadOutcome, Tier
from tests.support.thread_mails import IETF, MAVEN, mail, read

CHAIR = "chair@ietf.example"
MAINTAINED = read_profile({"preset": "free", "roles": [{"person": CHAIR, "role": "maintainer"}]})
ADOPT = (
    "This starts a two week call for adoption of draft-smith-example. "
    "Please reply by 31 January 2024 and say whether you support adoption or object."
)
WGLC = "This is a working group last call on draft-ietf-example. Please send comments by 31 January 2024."
CFC = (
    "This is a Call for Consensus (CfC) to publish the Working Draft of Foo. "
    "Please respond by 12 January. Silence will be taken as agreement."
)
REMOVE = (
    "This is a consensus call to remove the legacy format from the draft. "
    "Please say whether you support the removal."
)
POLL = (
    "This is a poll on the framing. Option A keeps the header, option B drops it. "
    "Please state which option you prefer by Friday."
)
BALLOT = "I would like to release Foo 1.2.\n\nVote open for at least 72 hours.\n\n[ ] +1\n[ ] +0\n[ ] -1"
FOR = [
    (
        ADOPT,
        "The adoption call has ended, and there is clear support for adoption. Authors, please submit a -00 as draft-ietf-foo-example.",
    ),
    (
        ADOPT,
        "This WG adoption call is complete. The document has been adopted. Please republish as draft-ietf-foo-example-00.",
    ),
    (
        ADOPT,
        "Thank you to everyone who responded. There was strong support for adopting this document and no opposition. We are therefore adopting it.",
    ),
    (
        ADOPT,
        "Hi all, The chairs have reviewed the responses to the adoption call and we believe that there is rough consensus to adopt the document.",
    ),
    (
        ADOPT,
        "Having reviewed the list discussion, we see sufficient support to adopt this draft as a WG item.",
    ),
    (ADOPT, "The chairs judge there to be consensus for adopting draft-smith-example."),
    (ADOPT, "We are calling consensus in favor of adoption."),
    (ADOPT, "Consensus is to adopt."),
    (ADOPT, "It looks like we have consensus to adopt this document as a working group item."),
    (ADOPT, "There is clear consensus in the working group to adopt this draft."),
    (ADOPT, "The result of the adoption call: the working group adopts the document."),
    (ADOPT, "Outcome of the call: adopted."),
    (
        ADOPT,
        "Based on the feedback received on the list, the WG chairs have concluded that there is consensus to adopt the draft.",
    ),
    (ADOPT, "We got good feedback and support for this draft. We'll go ahead and adopt it."),
    (ADOPT, "The call for adoption has successfully completed. Authors, please post a WG version."),
    (
        ADOPT,
        "The poll for adoption is now closed. There is consensus to adopt the document, and the authors should republish it as draft-ietf-example-00.",
    ),
    (ADOPT, "Given the support expressed, the chairs are adopting this draft."),
    (ADOPT, "The chairs believe there is sufficient interest in adopting this document as a WG draft."),
    (ADOPT, "As there were no objections, this document is now a WG draft."),
    (ADOPT, "I am declaring consensus for adoption."),
    (ADOPT, "Adoption call is over, draft adopted."),
    (ADOPT, "We have adopted this draft."),
    (ADOPT, "This document is hereby adopted."),
    (ADOPT, "The I-D is adopted by the WG."),
    (ADOPT, "Having heard no objections, we consider this draft adopted."),
    (ADOPT, "There was good support on the list so this is now adopted as a working group document."),
    (
        WGLC,
        "The working group last call has ended. There was good support and no issues were raised. I will request publication.",
    ),
    (WGLC, "WGLC has concluded with no objections. The document will be sent to the IESG."),
    (
        WGLC,
        (
            "The WGLC is now closed. We have consensus to publish this document. I'll prepare the shepherd "
            "write-up."
        ),
    ),
    (WGLC, "The last call has completed successfully and the document is ready to move forward."),
    (
        WGLC,
        "WGLC on this document has ended. I believe that there is consensus to advance this document to the IESG.",
    ),
    (WGLC, "This WGLC has closed. The chairs consider that the document has passed last call."),
    (
        WGLC,
        "The working group last call for this draft is complete, and I am submitting it to the IESG for publication.",
    ),
    (WGLC, "The document has WG consensus and will now be progressed to the IESG."),
    (WGLC, "We did not receive any objections during the last call, so the document moves to the IESG."),
    (WGLC, "The chairs find that there is rough consensus to publish."),
    (WGLC, "Working group consensus has been reached on this draft; I'm sending it to our AD."),
    (WGLC, "There were no comments against it. We will move ahead with publication."),
    (CFC, "This CfC has passed. The Working Draft will be published on Thursday."),
    (CFC, "With no objections received, this CfC passes."),
    (CFC, "The CfC closes with support and no objections: we have a resolution to publish."),
    (CFC, "RESOLUTION: Publish the Working Draft of Foo."),
    (CFC, "Resolved: publish Foo as a Working Draft."),
    (CFC, "There were no objections to this CfC, so it is approved."),
    (CFC, "This Call for Consensus passes. Thank you to all who responded."),
    (CFC, "Hearing no dissent, this is now a decision of the Working Group."),
    (CFC, "No objections were received, so this CfC is now closed with agreement to publish."),
    (CFC, "This message is to confirm the Working Group's decision to publish."),
    (CFC, "The CfC ended with no objections and several expressions of support, so we will publish."),
    (CFC, "As no objections were raised, the Chairs declare this resolution carried."),
    (CFC, "The motion carries."),
    (CFC, "The decision of the group is to publish the draft."),
    (REMOVE, "There is rough consensus to remove the legacy format. Editors, please make the change."),
    (REMOVE, "The consensus is to remove the format from the draft."),
    (REMOVE, "I'm calling consensus: the format is removed."),
    (REMOVE, "The chairs declare consensus in favor of the removal."),
    (REMOVE, "We have rough consensus for the removal."),
    (
        REMOVE,
        "The consensus call is over. The WG supports removing the format. Editors, please update the draft.",
    ),
    (REMOVE, "The WG has decided to remove the format."),
    (REMOVE, "Consensus is clear: we remove it."),
    (REMOVE, "The group has agreed to remove the legacy format."),
]
AGAINST = [
    (ADOPT, "The adoption call has ended. We did not see enough support to adopt the draft."),
    (ADOPT, "The chairs do not see consensus to adopt this document."),
    (ADOPT, "There was insufficient support for adoption, so we are not adopting this draft."),
    (ADOPT, "This draft will not be adopted at this time."),
    (ADOPT, "We conclude that there is no consensus to adopt."),
    (ADOPT, "The WG has decided not to adopt this draft."),
    (ADOPT, "After reviewing the discussion, we find there is a lack of consensus to adopt."),
    (ADOPT, "Given the objections raised, we cannot declare consensus for adoption."),
    (ADOPT, "We are not adopting this document."),
    (ADOPT, "The chairs have concluded that the working group does not want to take on this work."),
    (ADOPT, "There isn't sufficient energy in the working group to adopt this work."),
    (ADOPT, "The call for adoption failed."),
    (ADOPT, "The adoption call did not reach consensus."),
    (ADOPT, "Result of the call: not adopted."),
    (ADOPT, "I don't believe that we have consensus to adopt this."),
    (ADOPT, "Consensus to adopt has not been reached."),
    (ADOPT, "There is not sufficient interest to adopt this document."),
    (ADOPT, "We have not reached rough consensus to adopt."),
    (ADOPT, "The call is closed. The draft is not adopted."),
    (
        ADOPT,
        "At this point the chairs see no consensus for adoption and the authors are asked to continue the work as individuals.",
    ),
    (WGLC, "The WGLC has ended. The chairs do not believe the document is ready for publication."),
    (WGLC, "This last call did not demonstrate consensus to publish the document."),
    (WGLC, "Given the number of open issues, the document is not ready to advance."),
    (WGLC, "There is no consensus to publish this document."),
    (WGLC, "The document did not pass working group last call."),
    (WGLC, "The WGLC has failed. There is not enough support to publish."),
    (WGLC, "We do not have consensus to move this document forward."),
    (WGLC, "The document is returned to the working group."),
    (CFC, "This CfC did not pass."),
    (CFC, "There is no consensus on this CfC."),
    (CFC, "Given the objections, this CfC fails."),
    (CFC, "The CfC does not have consensus."),
    (CFC, "Several objections were received, therefore this CfC is not approved."),
    (CFC, "I am withdrawing this CfC."),
    (CFC, "This CfC is withdrawn."),
    (REMOVE, "There is no consensus to remove the legacy format, so it stays."),
    (REMOVE, "The chairs see no consensus for a change. The current text stands."),
    (REMOVE, "We do not have consensus to make this change."),
    (REMOVE, "The consensus call failed to show consensus for the removal."),
    (REMOVE, "The chairs find no consensus to change the document."),
    (REMOVE, "There's no consensus for removal; the text in the draft remains as is."),
    (REMOVE, "The status quo stands: there is no consensus to remove the format."),
    (REMOVE, "Rough consensus is to keep the format."),
    (REMOVE, "The consensus is against the removal."),
    (REMOVE, "The WG has decided to keep the legacy format."),
    (REMOVE, "Consensus is not to remove it."),
    (REMOVE, "There is consensus to keep the legacy format in the draft."),
    (REMOVE, "The group does not want to remove it."),
]
CHOSEN = [
    "Rough consensus is for option B.",
    "The WG prefers option B.",
    "The chairs declare consensus for option B.",
    "We will go with option A.",
    "The decision is option B.",
]
QUOTED = [
    (ADOPT, "The call for adoption is now closed. We will discuss the results with the area director."),
    (ADOPT, "The adoption call is over. Opinions are split, and the chairs will discuss next steps."),
    (ADOPT, "This call has ended. We will get back to you with the result."),
    (ADOPT, "The call period has ended. Thanks for all the comments."),
    (POLL, "The poll is closed. Option B it is."),
    (POLL, "The poll has ended: eight people prefer option B and two prefer option A."),
]
PUT_OFF = [
    (ADOPT, "We are postponing the adoption decision until the next meeting."),
    (ADOPT, "The adoption call is suspended until the IPR question is resolved."),
    (ADOPT, "The decision on adoption is deferred."),
    (ADOPT, "We will hold off on adopting the draft until the charter is updated."),
    (ADOPT, "The chairs have decided to postpone this call."),
]
NOTHING = [
    (ADOPT, "If we see no more objections by Friday, we will adopt the draft."),
    (ADOPT, "A reminder that the adoption call ends on Friday."),
    (ADOPT, "We have seen some support for adoption so far, please keep the comments coming."),
    (ADOPT, "So far I only see two people in support. We need more voices before we can adopt this."),
    (ADOPT, "Do we have consensus to adopt this?"),
    (ADOPT, "I would like to see more support before we declare consensus."),
    (ADOPT, "The chairs will judge consensus once the call ends."),
    (ADOPT, "The call is extended by one week as we have not seen enough responses."),
    (ADOPT, "As an individual, I see consensus to adopt this."),
    (ADOPT, "It is too early to say that there is consensus to adopt."),
    (ADOPT, "Not yet clear whether there is consensus to adopt."),
    (ADOPT, "Can we have consensus to adopt?"),
    (ADOPT, "Bob says that there is consensus to adopt."),
    (ADOPT, "Who would be willing to review the draft if it is adopted?"),
    (WGLC, "The last call ends tomorrow. So far there was no review."),
    (WGLC, "The WGLC is extended until Friday."),
    (WGLC, "I have not seen any objections so far."),
    (WGLC, "If there is no objection, I will send the document to the IESG."),
    (WGLC, "Please address the comments before we can move on."),
]


def ended(call: str, closing: str, who: str = CHAIR) -> ThreadOutcome:
    first = mail(0, CHAIR, call, subject="A call")
    question = mail(1, "cyn", "I have a question about section 3. What does it do?")
    return read(first, question, mail(2, who, closing, day=20), profile=IETF).outcome


@pytest.mark.parametrize(("call", "closing"), FOR)
def test_it_is_accepted(call: str, closing: str) -> None:
    outcome = ended(call, closing)
    assert outcome.tier is Tier.SAID
    assert outcome.kind in {OutcomeKind.ACCEPTED, OutcomeKind.REVISED}
    assert ended(call, closing, "eve").tier is Tier.REMARK


@pytest.mark.parametrize(("call", "closing"), AGAINST)
def test_it_is_turned_down(call: str, closing: str) -> None:
    outcome = ended(call, closing)
    assert (outcome.tier, outcome.kind) == (Tier.SAID, OutcomeKind.REJECTED)
    assert ended(call, closing, "eve").tier is Tier.REMARK


@pytest.mark.parametrize("closing", CHOSEN)
def test_an_option_is_chosen(closing: str) -> None:
    outcome = ended(POLL, closing)
    assert (outcome.tier, outcome.kind) == (Tier.SAID, OutcomeKind.ACCEPTED)
    assert outcome.sentence == "Option chosen by Chair (chair), 28 January 2024."
    assert ended(POLL, closing, "eve").tier is Tier.REMARK


@pytest.mark.parametrize(("call", "closing"), QUOTED)
def test_words_without_a_direction_are_quoted(call: str, closing: str) -> None:
    outcome = ended(call, closing)
    assert (outcome.tier, outcome.rule) == (Tier.REMARK, "closing statement")
    assert outcome.evidence


@pytest.mark.parametrize(("call", "closing"), PUT_OFF)
def test_it_is_put_off(call: str, closing: str) -> None:
    outcome = ended(call, closing)
    assert (outcome.tier, outcome.kind) in {
        (Tier.SAID, OutcomeKind.UNRESOLVED),
        (Tier.REMARK, OutcomeKind.UNRESOLVED),
    }
    assert outcome.evidence


@pytest.mark.parametrize(("call", "closing"), NOTHING)
def test_nothing_is_ruled_yet(call: str, closing: str) -> None:
    assert ended(call, closing).tier is Tier.REMARK


PEP = "I propose PEP 999, a new operator."
DROP = "I propose that we drop 2.6."


@pytest.mark.parametrize(
    ("put", "closing", "kind"),
    [
        (PEP, "I hereby accept PEP 999.", OutcomeKind.ACCEPTED),
        (PEP, "I'm accepting the PEP. Congratulations!", OutcomeKind.ACCEPTED),
        (PEP, "The council has decided to reject this PEP.", OutcomeKind.REJECTED),
        (DROP, "OK, I have decided: we drop 2.6.", OutcomeKind.ACCEPTED),
        (DROP, "I have decided that we will keep 2.6 for now.", OutcomeKind.REJECTED),
    ],
)
def test_a_maintainer_decides_on_a_proposal(put: str, closing: str, kind: OutcomeKind) -> None:
    outcome = read(mail(0, "ann", put), mail(1, CHAIR, closing), profile=MAINTAINED).outcome
    assert (outcome.tier, outcome.kind) == (Tier.SAID, kind)


@pytest.mark.parametrize(
    ("closing", "kind"),
    [
        ("Vote closed. We have 4 binding +1 and no -1, so the release passes.", OutcomeKind.ACCEPTED),
        ("The vote is closed and has passed.", OutcomeKind.ACCEPTED),
        ("We now have enough votes. I'll publish the release.", OutcomeKind.ACCEPTED),
        ("RC1 is sunk. Stay tuned for RC2.", OutcomeKind.REJECTED),
        ("We have two votes and need one more.", None),
        ("We would have enough votes if you voted.", None),
    ],
)
def test_a_release_manager_closes_a_vote(closing: str, kind: OutcomeKind | None) -> None:
    first = mail(0, "rita@apache.example", BALLOT, subject="[VOTE] Release Foo 1.2")
    outcome = read(first, mail(1, "rita@apache.example", closing), profile=MAVEN).outcome
    assert (outcome.kind if outcome.tier is Tier.SAID else None) is kind
