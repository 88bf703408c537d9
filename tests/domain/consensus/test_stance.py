"""Stance of single messages, as a table: what is written, and what it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.consensus.models import ConsensusMessage, MessageStance, Stance
from shared.domain.consensus.stance import message_stance, sentence_stance
from tests.support.properties import STEADY

SUPPORT = (
    "I wish to express support for adoption.",
    "I'm in support of this draft.",
    "I continue to support this.",
    "I am OK with this.",
    "I strongly agree.",
    "I agree with the draft.",
    "Yes, please.",
    "I vote yes.",
    "I fully support moving forward with this.",
    "We are in favor of adopting this document.",
    "I am supportive of this work.",
    "WFM",
    "Sounds good.",
    "No objection, +1.",
    "This looks ready to me.",
    "Ship it!",
    "I support this with a few comments.",
    "+1 (as an individual)",
    "+1!",
    "Strong +1",
    "+1 on this",
    "I'm +1 on this.",
    "I support adoption of this draft.",
    "I strongly support this work.",
    "Support.",
    "Strongly support adoption.",
    "+1",
    "+1 to adoption",
    "+1, ship it",
    "Hi all,\\\n\\\n+1\\\n\\\nBob",
    "I agree.",
    "I fully agree with the proposed text.",
    "Agreed.",
    "LGTM",
    "Looks good to me.",
    "Works for me.",
    "I'm in favor of publishing this document.",
    "I am in favour of option A.",
    "I couldn't agree more.",
    "I think this draft is ready for publication.",
    "The document is ready.",
    "I believe the WG should adopt this draft.",
    "Ack",
    "ACK, thanks.",
    "I would support adoption.",
    "I'd be happy to support this.",
    "We support adoption of this document.",
    "I have read the draft and support its adoption as a WG item.",
    "I support this, but could we fix the nits?",
    "I support adoption, although I disagree with section 3.",
    "Although I objected earlier, I now support publication.",
    "I see no reason not to adopt; I support it.",
    "Yes, I support adopting this.",
    "Yes.",
    "I think I agree.",
    "I tend to agree.",
    "I support publication even if some nits remain.",
    "I'd like to express my support for this draft.",
    "Please adopt this draft.",
    "As an implementer I support this.",
    "FWIW, I support this too.",
    "I wholeheartedly agree with Bob.",
    "I like this proposal.",
    "In favor.",
    "I second that.",
    "Thanks for the update. I'm fine with the new text.",
    "+1 for the above text.",
    "Acked-by: Bob <bob@example.com>",
    "I do support it.",
    "I agree with adopting the document as a WG starting point.",
    "I am fine with MUST, no objections.",
    "Supporting adoption. What auditors need is there.",
)
OBJECTION = (
    "I wish to register my objection.",
    "I continue to object.",
    "I remain opposed to this.",
    "I am opposed.",
    "I am not OK with this.",
    "I cannot accept this text.",
    "I disagree.",
    "I don't agree with the draft.",
    "I have a strong objection to this.",
    "I vote no.",
    "I am unable to support this.",
    "I'm not a fan of this proposal.",
    "NAK.",
    "NAK",
    "I share the concerns raised by Bob.",
    "I am not convinced.",
    "I do not think that the draft should be adopted.",
    "I think we should not adopt this draft.",
    "I would not support this.",
    "I cannot support this without a security review.",
    "Not in favour.",
    "I am strongly against this.",
    "Big -1",
    "I object.",
    "I strongly object to this change.",
    "I oppose adoption.",
    "I am opposed to this proposal.",
    "I'm against adopting this.",
    "I don't support this.",
    "I do not support adoption.",
    "I can't support this draft.",
    "I cannot agree with this.",
    "I don't agree.",
    "I disagree with the proposal.",
    "-1",
    "-1 from me",
    "NACK",
    "Nack, this breaks userspace.",
    "I don't think we should adopt this.",
    "I don't think this is ready.",
    "The draft is not ready for publication.",
    "This should not be adopted.",
    "I couldn't disagree more.",
    "I have serious concerns about this approach.",
    "I have an objection to section 4.",
    "I can't support this unless section 5 is rewritten.",
    "I agree with the goal, but I object to the text.",
    "While I agree with the goal, I do not support adoption.",
    "I'm not in favor of this.",
    "I am not comfortable with this text.",
    "I share Bob's objection. I agree with Bob's concern.",
    "I still object.",
    "I no longer support this draft.",
    "This is a bad idea.",
    "-1. This is broken.",
    "No.",
    "No, I don't support this.",
    "I don't think I can support this.",
    "I must object.",
    "I'd like to object to this.",
    "I do not believe this document is ready.",
    "I can't agree to this.",
    "I have to disagree.",
    "I respectfully disagree.",
    "I don't like this proposal.",
    "Strongly opposed.",
    "Not in favor.",
    "Object.",
    "I'm not fine with the new text.",
    "I agree that this is not ready.",
)
NEUTRAL = (
    "I don't disagree with this.",
    'As Bob said, "I can\'t support this".',
    "I heard that Alice objects to it.",
    "He said he objects.",
    "Nobody objects to this.",
    "I would not object to this.",
    "I wouldn't object.",
    "I don't have a problem with this.",
    "I have no objections to the publication of this draft.",
    "I don't object.",
    "I do not object to publication.",
    "No objection.",
    "No objections from me.",
    "I have no objection to adopting this.",
    "I'm not opposed.",
    "I am not opposed to this change.",
    "I'm not against it.",
    "I withdraw my objection.",
    "My concerns have been addressed.",
    "I no longer object.",
    "I have no strong opinion.",
    "I neither support nor oppose this.",
    "I can live with this.",
    "Here are the minutes of the meeting.",
    "Bob objected that this breaks deployed code.",
    "Alice supports the draft.",
    'Bob said "I object to this draft".',
    "The ACK frame is sent after the packet.",
    "Our product does not support IPv6.",
    "We support TLS 1.2 and TLS 1.3 in our stack.",
    "Call me at +1 415 555 1234.",
    "The function returns -1 on error.",
    "Several people disagreed last time.",
    "> I object to this.\\\n\\\nThanks for the feedback.",
    "The object model is described in section 2.",
    "I do not disagree.",
    "Yeah, right, I support this. /s",
    "No, I don't object.",
    "I can't say I object.",
    "I don't have any objections.",
    "I don't see any problem with that.",
    "I see no issues with the draft.",
    "Acked-by: Carol <carol@example.com>",
    "I did not object at the time.",
    "If nobody objects, I will merge it tomorrow.",
    "Unless I hear objections by Friday we will proceed.",
    "I understand that Bob opposes this.",
    "Please send your support or objection to the list.",
    "We are asking whether you support or object to adoption.",
    "Please state whether you support adoption.",
    "Nobody objected.",
    "I believe there were no objections.",
    "Please review, and say whether you think it is ready for publication.",
    "Supporting this in firmware takes years.",
)
UNCLEAR = (
    "I could be convinced to support this.",
    "I may object.",
    "Perhaps I could support this.",
    "I would support this if the security section were fixed.",
    "I'd support it provided that the IPR is cleared.",
    "If the authors remove section 4, I would support adoption.",
    "I might support this.",
    "I could support this.",
    "I would object if this became mandatory.",
    "I'm not sure I support this.",
    "I'm not sure.",
    "I have some concerns.",
    "I agree with A. I disagree with B.",
    "I will support it once the IANA section is complete.",
    "I like the name as it is.",
)
QUESTION = (
    "I wonder, do you support this?",
    "Why do you object?",
    "Would you object if we merged it?",
    "Does anyone support this?",
    "Does anyone object?",
    "Any objections?",
    "Do you support this?",
    "What does section 3 mean?",
    "Do we agree?",
    "Can we agree on this text?",
)


def read(text: str) -> MessageStance:
    return message_stance(ConsensusMessage("k1", "bob@example.com", text, "Bob"))


@pytest.mark.parametrize("text", SUPPORT)
def test_support_is_recognised(text: str) -> None:
    assert read(text).stance is Stance.SUPPORT


@pytest.mark.parametrize("text", OBJECTION)
def test_an_objection_is_recognised(text: str) -> None:
    assert read(text).stance is Stance.OBJECTION


@pytest.mark.parametrize("text", NEUTRAL)
def test_what_takes_no_side_is_neutral(text: str) -> None:
    assert read(text).stance is Stance.NEUTRAL


@pytest.mark.parametrize("text", UNCLEAR)
def test_what_leaves_a_doubt_is_unclear(text: str) -> None:
    assert read(text).stance is Stance.UNCLEAR


@pytest.mark.parametrize("text", QUESTION)
def test_a_question_about_a_stance_takes_none(text: str) -> None:
    assert read(text).stance is Stance.QUESTION


def test_the_evidence_is_the_sentence_at_its_offsets() -> None:
    text = "Hi all,\n\nI have read the draft. I do not support\nadoption of it. Regards, Bob"
    stance = read(text)
    assert stance.evidence is not None
    assert stance.evidence.quote == "I do not support\nadoption of it."
    assert text[stance.evidence.start : stance.evidence.end] == stance.evidence.quote


def test_typographic_quotes_and_dashes_change_nothing() -> None:
    assert read("I don\u2019t support this.").stance is Stance.OBJECTION
    assert read("\u22121 from me").stance is Stance.OBJECTION
    assert read("Bob said \u201cI object to this\u201d.").stance is Stance.NEUTRAL


@pytest.mark.parametrize(
    "quoted",
    [
        "> I object to this draft.\n\nThanks for your review.",
        "On Monday Bob wrote:\n> I strongly object.\n> -1\n\nWe will look into it.",
        "Thanks, noted.\n\n----- Original Message -----\nFrom: Bob\n\nI object to this draft.",
        "  > > +1\n  > I agree\nNoted.",
        "JD> I object\nJD> strongly\nWe will see about that.",
    ],
)
def test_quoted_text_is_never_the_senders_stance(quoted: str) -> None:
    assert read(quoted).stance is Stance.NEUTRAL


def test_a_trailer_counts_for_the_one_whom_it_names() -> None:
    assert read("Acked-by: Bob <bob@example.com>").stance is Stance.SUPPORT
    assert read("Nacked-by: Bob <bob@example.com>").stance is Stance.OBJECTION
    assert read("Reviewed-by: Carol <carol@example.com>").stance is Stance.NEUTRAL


@pytest.mark.parametrize(
    "text",
    [
        # Found in real archives: a wrapped line, a listing, a patch, a product, a wish.
        "The reader looks up the name of the\nobject in the store.",
        "Object names are forty letters long.",
        "Second, the tests are slow.",
        "Support for individual features may vary.",
        "-1\n-2\n-3\n-4",
        "It reports a -1 if the text is invalid.",
        "@@ -1,2 +1,2 @@\n-1\n+I object to this\n context",
        "We currently only support",
        "We accept the positive form of the option.",
        "I would certainly like that workflow.",
        "I wasn't happy with my first draft.",
        "I don't think there is any such helper for timestamps.",
    ],
)
def test_what_only_looks_like_a_stance_is_none(text: str) -> None:
    assert read(text).stance is Stance.NEUTRAL


def test_after_a_however_the_last_stance_counts() -> None:
    assert read("I agree with the aim. However, I disagree with the means.").stance is Stance.OBJECTION


def test_a_stance_on_the_document_outweighs_one_on_a_remark() -> None:
    assert read("I disagree with Carl about section 3. I support adoption.").stance is Stance.SUPPORT
    assert read("I agree with Carl about section 3. I do not support adoption.").stance is Stance.OBJECTION


def test_sarcasm_is_left_alone() -> None:
    assert read("Great, another registry, I support that. /s").stance is Stance.NEUTRAL


def test_a_conditional_stance_says_that_it_is_one() -> None:
    stance = read("I would support adoption if the IANA section were complete.")
    assert stance.is_conditional
    assert stance.evidence is not None


def test_one_sentence_can_be_read_alone() -> None:
    assert sentence_stance("I support this.") is Stance.SUPPORT
    assert sentence_stance("Why?") is Stance.QUESTION
    assert sentence_stance("The sky is blue.") is None


def test_an_empty_message_is_neutral() -> None:
    assert read("").stance is Stance.NEUTRAL
    assert read("\n \n").evidence is None


_PIECES = st.sampled_from(
    [
        "I support",
        "not ",
        "+1",
        "-1",
        "\n",
        "> ",
        "object",
        ". ",
        "?",
        '"',
        "'",
        "İ",
        "if ",
        "no ",
        "wrote:",
        "\u2028",
        "👍",
    ]
)


@STEADY
@given(st.lists(_PIECES | st.text(max_size=8), max_size=30).map("".join))
def test_any_text_gives_a_stance_whose_evidence_is_in_it(text: str) -> None:
    stance = read(text)
    if stance.evidence is not None:
        assert text[stance.evidence.start : stance.evidence.end] == stance.evidence.quote
    if stance.stance in (Stance.SUPPORT, Stance.OBJECTION):
        assert stance.evidence is not None


@pytest.mark.parametrize(
    "piece",
    [
        "I ",
        "not ",
        "i don't think i ",
        "+1 ",
        '"',
        "'a ",
        "really ",
        "> ",
        "no objections ",
        "wrote:\n",
        "if, ",
    ],
)
@pytest.mark.timeout(20)
def test_hostile_repetition_is_read_in_bounded_time(piece: str) -> None:
    assert read(piece * (100_000 // len(piece))).message_key == "k1"
