"""A thread's page, built from documents alone: order, marks, gaps, and hostile mail."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.mail.segments import NormalizedBody, segment
from shared.models.reports import Report, Summary, SummaryClaim, SummaryStance
from shared.models.threads import Address, Chunk, Message, Thread
from shared.models.values import Citation
from shared.views.read_models import AnswerElsewhere
from tests.support.documents import CREATED
from tests.web.markup import Page, check
from web.pages.thread_pages import MESSAGES_A_PAGE
from web.pages.thread_view import ThreadPageData, thread_values
from web.problems import Problem
from web.rendering import render

START = datetime(2024, 1, 1, 9, tzinfo=UTC)
ID = "0123456789abcdef"
NASTY = [
    "<script>alert(1)</script>",
    "</title></p><img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>'",
    "{{ 7 * 7 }} {% raw %} ${7*7} <%= 1 %>",
    "javascript:alert(1)",
    "a\u202ereversed\u2066\u200f\x00\x1b[31m\x07",
    "&lt;b&gt; &amp; <!-- --> ]]>",
    "x" * 20_000,
]


def message(number: int, text: str = "Some words.", answers: int | None = None, **more: Any) -> Message:
    segments = [{"kind": kind.value, "start": start, "end": end} for kind, start, end in segment(text)]
    body = NormalizedBody(text, segment(text))
    values: dict[str, Any] = {
        "id": f"{number:016x}",
        "message_id": f"<{number}@x>",
        "archive_id": ID,
        "thread_id": ID,
        "in_reply_to": None if answers is None else f"<{answers}@x>",
        "from_": Address(name=f"Person {number}", email=f"p{number}@example.org"),
        "subject": "A subject",
        "date": START + timedelta(minutes=number),
        "body_raw": text,
        "body_normalized": body.text,
        "segments": segments,
        "status": "processed",
    }
    return Message(created_at=CREATED, **{**values, "message_key": values["id"], **more})


def chunk_of(source: Message) -> Chunk:
    body = NormalizedBody(source.body_raw, segment(source.body_raw))
    spans = body.raw_spans(0, len(body.text))
    return Chunk(
        created_at=CREATED,
        id=f"{int(source.id, 16) + 2**40:016x}",
        chunk_id=f"{int(source.id, 16) + 2**40:016x}",
        message_key=source.id,
        message_id=source.message_id,
        thread_id=ID,
        archive_id=ID,
        chunk_index=0,
        text=body.text,
        token_count=1,
        start_offset=spans[0][0],
        end_offset=spans[-1][1],
        metadata={"spans": [list(span) for span in spans]},
    )


def thread(**more: Any) -> Thread:
    values: dict[str, Any] = {
        "id": ID,
        "thread_id": ID,
        "root_message_id": "<0@x>",
        "archive_id": ID,
        "sources": ["list"],
        "subject": "[list] A subject",
        "status": "processed",
    }
    return Thread(created_at=CREATED, **{**values, **more})


def summary(messages: list[Message], *quotes: tuple[int, str], **more: Any) -> Summary:
    citations = []
    for number, quote in quotes:
        chunk = chunk_of(messages[number])
        offset = chunk.text.index(quote)
        citations.append(
            Citation(
                chunk_id=chunk.id,
                message_id=messages[number].message_id,
                message_key=messages[number].id,
                quote=quote,
                relevance_score=1.0,
                offset=offset,
            )
        )
    values: dict[str, Any] = {
        "id": "s1",
        "summary_id": "s1",
        "scope": ID,
        "thread_id": ID,
        "summary_type": "thread",
        "title": "A subject",
        "content_markdown": "",
        "content_html": "",
        "citations": citations,
        "claims": [
            SummaryClaim(text=citation.quote, section="agreed", citations=[place])
            for place, citation in enumerate(citations)
        ],
        "generated_by": "test",
        "generated_at": START,
        "metadata": {"reason": "because", "consensus_type": "agreement", "has_consensus": True},
    }
    return Summary(created_at=CREATED, **{**values, **more})


def shown(reading: ThreadPageData, **options: Any) -> Page:
    values = thread_values(reading, **options)
    return check(render("pages/thread.html", path="/threads/x", query="", operator=True, **values))


def page_of(messages: list[Message], made: Summary | None = None, **more: Any) -> Page:
    chunks = {
        message.id: message for message in (chunk_of(one) for one in messages if one.body_normalized.strip())
    }
    known = thread(message_count=len(messages), summary_id=made.id if made else None, **more)
    return shown(ThreadPageData(known, messages, made, None, chunks))


def test_a_citation_leads_to_its_sentence_marked_in_place() -> None:
    messages = [
        message(0, "I propose X.\n\nIt is good."),
        message(1, "> I propose X.\n\nI support X. It helps.\n\nBo", answers=0),
    ]
    page = page_of(messages, summary(messages, (1, "I support X."), (0, "It is good.")))
    assert page.by_id("c1").text == "I support X."
    assert page.by_id("c2").text == "It is good."
    assert [link.attributes["href"] for link in page.all("a", class_="cite")] == ["#c1", "#c2"]
    assert [mark.text for mark in page.all("mark", class_="cited")] == ["It is good.", "I support X."]


def test_a_quote_over_several_lines_and_around_a_quotation_is_marked_whole() -> None:
    messages = [message(0, "This sentence runs\nover two lines. End.\n\n> quoted\n\nAnd on it goes.")]
    made = summary(messages, (0, "This sentence runs\nover two lines."), (0, "End.\n\nAnd on it goes."))
    page = page_of(messages, made)
    assert page.by_id("c1").text == "This sentence runs\nover two lines."
    assert page.by_id("c2").text == "End."
    assert [mark.text for mark in page.all("mark")][-1] == "And on it goes."


def test_citations_of_the_same_words_share_a_mark_and_keep_their_own_anchors() -> None:
    messages = [message(0, "We agree on this. Really.")]
    page = page_of(messages, summary(messages, (0, "We agree on this."), (0, "agree on this. Really.")))
    assert page.by_id("c1").text == page.by_id("c2").text == "We agree on this. Really."
    assert len(page.all("mark")) == 1


def test_a_citation_that_does_not_hold_is_not_marked() -> None:
    messages = [message(0, "We agree on this.")]
    made = summary(messages, (0, "We agree"))
    forged = made.citations[0].model_copy(update={"quote": "We disagree"})
    chunks = {forged.chunk_id: chunk_of(messages[0])}
    values = thread_values(
        ThreadPageData(
            thread(message_count=1), messages, made.model_copy(update={"citations": [forged]}), None, chunks
        )
    )
    assert not any(run.mark for view in values["messages"] for block in view.blocks for run in block.runs)


def test_a_legend_names_the_marks_that_the_messages_have() -> None:
    messages = [message(0), message(1, "I object. Strongly.", answers=0)]
    stance = SummaryStance(
        message_key=messages[1].id, stance="objection", quote="I object.", start=0, end=9, counts_now=True
    )
    cited = page_of(messages, summary(messages, (0, "Some words.")))
    both = page_of(messages, summary(messages, (0, "Some words."), stances=[stance]))
    assert "Highlighted sentences are evidence" in cited.text
    assert "Underlined" not in cited.text
    assert "Underlined sentences show a position." in both.text
    assert "Highlighted" not in page_of(messages).text


def test_a_sender_without_a_name_is_shown_by_a_masked_address() -> None:
    page = page_of([message(0, from_=Address(email="bo@corp.example"))])
    assert "b*@corp.example" in page.text
    assert "bo@corp.example" not in page.text


def test_a_summary_says_whether_a_language_model_made_it() -> None:
    messages = [message(0)]
    made = summary(messages, (0, "Some words."), generated_by="extractive-v2", prompt_template="t-v1")
    by_rules = page_of(messages, made).text
    assert "by rules, without a language model (extractive-v2, t-v1)." in by_rules
    by_model = page_of(messages, made.model_copy(update={"generated_by": "toy"})).text
    assert "by the language model toy (t-v1)." in by_model


def test_stances_are_chips_that_lead_to_the_sentence_that_shows_them() -> None:
    messages = [message(0), message(1, "I object. Strongly.", answers=0)]
    stance = SummaryStance(
        message_key=messages[1].id,
        name="Bo",
        email="bo@x",
        stance="objection",
        quote="I object.",
        start=0,
        end=9,
        counts_now=True,
    )
    page = page_of(messages, summary(messages, (0, "Some words."), stances=[stance], counts={"objection": 1}))
    assert page.by_id(f"s-{messages[1].id}").text == "I object."
    (chip,) = page.all("a", class_="chip objection")
    assert (chip.text, chip.attributes["href"]) == ("objects", f"#s-{messages[1].id}")


def test_a_chain_of_three_hundred_answers_is_shown_in_pages_with_bounded_indentation() -> None:
    messages = [message(n, f"Words {n}.", n - 1 if n else None) for n in range(300)]
    reading = ThreadPageData(thread(message_count=300), messages)
    pages = [shown(reading, page=str(number)) for number in range(1, 7)]
    articles = [article for page in pages for article in page.all("article")]
    assert len(articles) == len({article.attributes["id"] for article in articles}) == 300
    assert {article.attributes["class"] for article in articles} == {f"message d{n}" for n in range(9)}


def test_a_thread_of_a_thousand_messages_comes_in_pages_that_citations_find() -> None:
    messages = [message(n, f"Words {n}.", 0 if n else None) for n in range(1000)]
    made = summary(messages, (900, "Words 900."))
    reading = ThreadPageData(
        thread(message_count=1000, summary_id="s1"),
        messages,
        made,
        None,
        {c.id: c for c in [chunk_of(messages[900])]},
    )
    first = shown(reading)
    assert len(first.all("article")) == MESSAGES_A_PAGE
    (cite,) = first.all("a", class_="cite")
    assert cite.attributes["href"] == f"?at={messages[900].id}#c1"
    third = shown(reading, at=messages[900].id)
    assert third.by_id("c1").text == "Words 900."
    with pytest.raises(Problem):
        thread_values(reading, page=str(1000 // MESSAGES_A_PAGE + 1))


def test_long_quotes_are_folded_short_ones_shown_and_signatures_dimmed() -> None:
    text = "Ada wrote:\n> one\n> two\n> three\n> four\n> five\n\nMy answer.\n\n> short\n\nYes.\n\n-- \nBo\nhttps://example.org\n"
    page = page_of([message(0, text)])
    (folded,) = page.all("details", class_="quote")
    assert "Ada wrote:" in folded.text
    assert "one\ntwo" in folded.text
    assert [quote.text for quote in page.all("blockquote")][1] == "short"
    assert "Bo" in page.all("div", class_="signature")[0].text


def test_text_that_is_laid_out_keeps_its_spaces_and_prose_flows() -> None:
    table = "Name   Size   Kind\nfoo    12     a\nbar    100    b"
    prose = (
        "These are words that some mailer has broken into lines\nof about the same length, and which flow."
    )
    page = page_of([message(0, f"{prose}\n\n{table}\n\n- one\n- two")])
    assert [block.text for block in page.all("pre")] == [table]
    assert [paragraph.text for paragraph in page.all("p", class_="prose")] == [prose]
    assert [paragraph.text for paragraph in page.all("p", class_="lines")] == ["- one\n- two"]


def test_a_vote_of_plus_one_is_no_patch_and_a_table_with_borders_keeps_its_spaces() -> None:
    vote, table = "+1 to adoption with that change.", "+---+----+\n| a | b  |\n+---+----+"
    page = page_of([message(0, f"{vote}\n\n{table}")])
    assert [block.text for block in page.all("pre")] == [table]
    assert vote in page.text


def test_prose_that_flows_has_no_gap_in_a_word_that_its_mail_breaks_at_a_hyphen() -> None:
    broken = (
        "this starts a two-week call for adoption of draft-lindqvist-tally-\nreceipts-02, which is short."
    )
    page = page_of([message(0, f"{broken}\n\nShort-\nlines keep their ends.")])
    assert page.all("p", class_="prose")[0].text == broken.replace("-\n", "-")
    assert page.all("p", class_="lines")[0].text == "Short-\nlines keep their ends."


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"status": "pending", "summary_id": "s1"}, "is being created"),
        ({"status": "pending"}, "no summary yet"),
        ({"status": "failed_max_retries", "lastError": "X: no"}, "could not be created: X: no"),
        ({"message_count": 3}, "2 messages of this thread could not be stored"),
    ],
)
def test_what_is_missing_or_outdated_is_said(more: dict[str, Any], said: str) -> None:
    assert said in shown(ThreadPageData(thread(**{"message_count": 1, **more}), [message(0)])).text


def test_a_message_that_was_given_up_is_named() -> None:
    page = page_of([message(0), message(1, status="failed_max_retries")])
    assert "1 message could not be processed" in page.text
    assert "Person 1" in page.text


def test_a_report_of_several_threads_marks_what_it_cites_here() -> None:
    messages = [message(0, "We agree on this.")]
    report = Report(created_at=CREATED,
        id="rpt-1", report_id="rpt-1", scope="w", summary_id="s1", summary_type="weekly", thread_id=None,
        title="Week 3", published_at=START,
    )  # fmt: skip
    made = summary(messages, (0, "We agree on this."))
    page = shown(
        ThreadPageData(
            thread(message_count=1), messages, made, report, {c.id: c for c in [chunk_of(messages[0])]}
        )
    )
    assert page.by_id("c1").text == "We agree on this."
    assert "Citations of Week 3" in page.text


@pytest.mark.parametrize("filler", [" ", "\t", "> ", "x ", "-", "\u00a0", "Re: ", "[a] "])
def test_long_lines_of_anything_are_shown_in_no_time(filler: str) -> None:
    long = filler * (200_000 // len(filler))
    started = time.process_time()
    page_of([message(0, f"Words.\n{long}\nMore words.", subject=long)], subject=long)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_hostile_mail_is_shown_as_text_and_injects_nothing(nasty: str) -> None:
    text = f"{nasty} was said.\n\n> {nasty}\n> a\n> b\n> c\n\nI agree with {nasty} here.\n\n-- \n{nasty}\n"
    mail = message(
        0,
        text,
        subject=nasty,
        from_=Address(name=nasty, email=f"{nasty}@x"),
        attachments=[{"filename": nasty, "content_type": nasty, "size_bytes": 1}],
    )
    quote = chunk_of(mail).text.split("\n\n")[0]
    stance = SummaryStance(
        message_key=mail.id,
        name=nasty,
        email=nasty,
        stance="support",
        quote=quote,
        start=0,
        end=5,
        counts_now=True,
    )
    made = summary([mail], (0, quote), stances=[stance], counts={"support": 1}, generated_by=nasty)
    claim = SummaryClaim(text=nasty, section=nasty, speaker=nasty, citations=[0])
    made = made.model_copy(update={"claims": [claim], "metadata": {"reason": nasty, "notes": [nasty]}})
    page = page_of([mail], made, subject=nasty, lastError=nasty)
    assert page.own_scripts == []
    assert [
        element.tag for element in page.elements if element.tag in {"img", "b"} and element.text == ""
    ] == []
    visible = "".join(text for text in nasty if text.isprintable() and text not in "\u202e\u2066\u200f")
    assert visible[:50] in page.text
    assert "\u202e" not in page.text
    assert "49" not in page.all("title")[0].text


def test_what_is_odd_about_a_message_is_marked_and_an_answer_on_another_list_is_shown() -> None:
    odd = message(1, answers=0, conflicts=1, warnings=["hidden-text"])
    members = [{"id": "<0@x>"}, {"id": "<1@x>", "parent": "<0@x>", "via": "subject"}]
    answer = AnswerElsewhere(
        message_key="f" * 16, message_id="<there@y>", answers="<1@x>", source="other-list", thread_id="e" * 16,
        sender=Address(name=NASTY[0], email="e@y"), date=START, beginning=NASTY[1],
        links={"page": f"/threads/{'e' * 16}?at={'f' * 16}#m-{'f' * 16}"},
    )  # fmt: skip
    data = ThreadPageData(
        thread(threading={"members": members, "subjects": []}), [message(0), odd], elsewhere=[answer]
    )
    html = render("pages/thread.html", path="/threads/x", query="", **thread_values(data))
    check(html)
    for mark in ("conflicting content under the same Message-ID", "hidden text", "threaded by subject only"):
        assert html.count(mark) == 1, mark
    assert html.count("Answered on another list") == 1
    assert f"/threads/{'e' * 16}?at=" in html
    assert "<script>alert(1)" not in html
    assert "<img src=x" not in html
