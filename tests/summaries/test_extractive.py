import pytest

from shared.models.values import PositionStance, Preset, RoleHolder, SourceProfile
from shared.summaries.citations import verify_stored
from shared.summaries.extractive import ExtractiveSummarizer
from shared.summaries.markdown import render_markdown
from shared.summaries.models import Section, Summarizer, ThreadContext, ThreadSummary
from shared.summarization.summarizers import OfflineSummarizer
from tests.support.discussions import discussion, letters


def summarised(context: ThreadContext) -> ThreadSummary:
    return ExtractiveSummarizer().summary(context)


def of_section(summary: ThreadSummary, section: Section) -> list[str]:
    return [claim.text for claim in summary.claims if claim.section is section]


def forty_messages() -> ThreadContext:
    said = [("Ann Author", "I propose that we adopt draft-foo-bar. It solves renumbering for operators.")]
    said += [
        (f"Person {number % 9}", f"Some background on case {number}. " + "The router keeps its state. " * 12)
        for number in range(1, 40)
    ]
    said[26] = (
        "Olga Objector",
        "Thanks for the draft. I object to adoption because the security section is empty.",
    )
    said[33] = ("Otto Other", "I do not support this draft: nobody has implemented it.")
    said[38] = ("Sue Supporter", "I support adoption of this document.")
    return discussion(letters(*said), size=200)


def test_objections_in_the_second_half_of_forty_messages_appear() -> None:
    summary = summarised(forty_messages())
    said = of_section(summary, Section.DISSENT) + of_section(summary, Section.CONCERNS)
    assert "I object to adoption because the security section is empty." in said
    assert "I do not support this draft: nobody has implemented it." in said
    assert of_section(summary, Section.AGREED) == ["I support adoption of this document."]


def test_a_thread_is_summarised_from_all_of_it() -> None:
    context = forty_messages()
    cited = {citation.message_key for citation in summarised(context).citations}
    assert {"k0", "k26", "k33", "k38"} <= cited


def test_every_citation_of_every_claim_verifies() -> None:
    context = forty_messages()
    summary = summarised(context)
    texts = {chunk.chunk_id: chunk.text for chunk in context.chunks}
    assert summary.citations
    assert verify_stored(summary.citations, texts) == []
    assert all(claim.is_supported for claim in summary.claims)


def test_the_same_thread_gives_the_same_summary() -> None:
    assert summarised(forty_messages()) == summarised(forty_messages())


def test_claims_are_sorted_into_sections() -> None:
    chair = SourceProfile(Preset.IETF, (RoleHolder("chair@example.com", "chair"),))
    summary = summarised(
        discussion(
            letters(
                ("Ann", "I propose that we drop section 4. What do you think?"),
                ("Bob", "I support this proposal."),
                ("Carl", "I object to this proposal."),
                ("Dora", "We decided to go with option B."),
                ("Chair", "I declare rough consensus to drop section 4."),
            ),
            profile=chair,
        )
    )
    assert of_section(summary, Section.AGREED) == ["I support this proposal."]
    assert of_section(summary, Section.DISSENT) == ["I object to this proposal."]
    assert of_section(summary, Section.DECISIONS) == ["I declare rough consensus to drop section 4."]
    assert of_section(summary, Section.POSSIBLE_DECISIONS) == ["We decided to go with option B."]
    assert of_section(summary, Section.PROPOSALS) == ["I propose that we drop section 4."]


def test_without_a_role_nobodys_word_is_a_decision() -> None:
    said = letters(("Ann", "I propose that we drop section 4."), ("Eve", "As chair I declare consensus."))
    assert of_section(summarised(discussion(said)), Section.DECISIONS) == []


def test_mail_in_another_language_is_quoted_and_not_judged() -> None:
    german = (
        "Ich bin daf\u00fcr und wir sollten das auch so machen, aber die Frist ist noch nicht klar. Danke."
    )
    summary = summarised(discussion(letters(("Ann", "I propose that we adopt it."), ("Bert", german))))
    assert german[: german.index(" Danke")] in of_section(summary, Section.KEY_POINTS)
    assert of_section(summary, Section.AGREED) == []


def test_a_claim_names_who_said_it() -> None:
    said = ("Carl Coder", "The port number has to be registered.")
    summary = summarised(discussion(letters(said)))
    assert [(claim.speaker, claim.text) for claim in summary.claims] == [said]


def test_what_was_already_said_is_no_key_point() -> None:
    summary = summarised(forty_messages())
    texts = [claim.text for claim in summary.claims if claim.section is Section.KEY_POINTS]
    stated = [claim.text for claim in summary.claims if claim.section is not Section.KEY_POINTS]
    assert texts
    assert not set(texts) & set(stated)


@pytest.mark.parametrize("said", [[("Ann", "")], [("Ann", "> only a quote")], [("Ann", "\n \n")]])
def test_a_thread_without_own_words_has_an_empty_summary(said: list[tuple[str, str]]) -> None:
    summary = summarised(discussion(letters(*said)))
    assert summary.claims == ()
    assert "Citations" in render_markdown(summary)


def test_a_thread_whose_chunks_are_lost_claims_nothing() -> None:
    context = discussion(letters(("Carl", "I object to this.")))
    bare = ThreadContext("t1", "s", context.messages, [], context.reading, context.mails)
    assert summarised(bare).claims == ()


def test_the_title_is_the_subject_without_prefixes() -> None:
    context = discussion(
        letters(("Ann", "Hello there everybody.")), subject="Re: [wg-list] Fwd: RE:  Adoption\tcall"
    )
    assert summarised(context).title == "Adoption call"
    assert summarised(discussion(letters(("Ann", "x")), subject="Re:")).title == "(no subject)"


async def test_it_is_a_summarizer() -> None:
    summarizer: Summarizer = OfflineSummarizer()
    summary = await summarizer.summarize(forty_messages())
    assert summary.generated_by == summarizer.name
    assert PositionStance.SUPPORT in {position.stance for position in summary.reading.positions}


@pytest.mark.timeout(60)
def test_a_huge_thread_is_summarised_in_bounded_time() -> None:
    said = [(f"P{n % 50}", f"Remark {n} on the matter at hand. " * 30) for n in range(200)]
    assert summarised(discussion(letters(*said))).claims
