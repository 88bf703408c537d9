"""Answers on the page, in the API and in the terminal: verbatim sentences, or that no message has the answer."""

from urllib.parse import quote

import pytest

from tests.web.markup import check
from tests.web.site import Site

ANSWERED = "Why was JSON dropped?"
UNANSWERABLE = "Which veterinarian vaccinates zebras in winter?"


def test_an_answer_has_sentences_that_stand_in_their_mails(site: Site) -> None:
    answer = site.json(f"/api/ask?q={quote(ANSWERED)}")
    assert answer["text"] == ""
    sentences = [sentence for thread in answer["threads"] for sentence in thread["sentences"]]
    assert sentences
    assert "JSON" in " ".join(sentence["text"] for sentence in sentences)
    for sentence in sentences:
        shown = check(site.host.get(sentence["page"].partition("#")[0]).text)
        (marked,) = [element for element in shown.all("mark") if element.text.strip()][:1]
        assert " ".join(marked.text.split()).strip() in sentence["text"]


def test_the_page_quotes_without_a_script_and_leads_to_the_mails(site: Site) -> None:
    shown = check(site.host.get(f"/ask?q={quote(ANSWERED)}").text)
    assert len(shown.all("blockquote")) > 0
    links = [link.attributes["href"] for link in shown.all("a")]
    assert any(link.startswith("/m/") and "quote=" in link for link in links)
    assert "Ask the archive" in check(site.host.get("/ask").text).text


@pytest.mark.parametrize("question", [UNANSWERABLE, "Who objected to zebra migration veterinarians?"])
def test_where_nothing_shows_an_answer_that_is_the_answer(site: Site, question: str) -> None:
    answer = site.json(f"/api/ask?q={quote(question)}")
    assert (answer["text"], answer["threads"]) == ("Nothing in the mail shows it.", [])
    assert answer["text"] in check(site.host.get(f"/ask?q={quote(question)}").text).text


def test_who_stands_where_is_answered_by_positions(site: Site) -> None:
    answer = site.json(f"/api/ask?q={quote('Who supports the adoption of tally receipts?')}")
    stances = {sentence["stance"] for thread in answer["threads"] for sentence in thread["sentences"]}
    assert stances == {"support"}
    for thread in answer["threads"]:
        report = site.json(f"/api/threads/{thread['thread_id']}")["links"]["report"]
        said = {
            (position["person"], position["citation"]["quote"])
            for position in site.json(report)["summary"]["reading"]["positions"]
            if position["tier"] == "said"
        }
        assert {(sentence["from"]["email"], sentence["text"]) for sentence in thread["sentences"]} <= said


def test_a_fault_in_a_question_is_said_beside_the_box(site: Site) -> None:
    assert site.host.get("/api/ask?q=form:leo+why").status == 422
    answer = site.host.get("/ask?q=form:leo+why")
    assert answer.status == 422
    assert "Did you mean from:?" in check(answer.text).text


def test_what_decided_a_thread_comes_before_what_was_said_earlier(site: Site) -> None:
    answer = site.json(f"/api/ask?q={quote('How long is a receipt valid?')}")
    first = answer["threads"][0]["sentences"][0]
    assert first["text"].startswith("Decision for -02: the lifetime is 30 days")
    assert first["from"]["name"] == "Mara Lindqvist"
    assert first["date"].startswith("2026-03-10")


def test_a_question_about_a_person_is_about_its_topic_and_not_about_the_name(site: Site) -> None:
    compression = site.json(f"/api/ask?q={quote('What does Nora think about compression?')}")
    assert [thread["subject"] for thread in compression["threads"]] == [
        "[slowmail] Consensus call: remove the compression option"
    ]
    json = site.json(f"/api/ask?q={quote('What does Nora think about JSON?')}")
    assert (json["text"], json["threads"]) == ("No clear position on this was found in the mail.", [])


@pytest.mark.parametrize(
    "question",
    [
        "who objected to adoption",
        "Who objected to the adoption of the draft?",
        "what does Leo think of adoption",
    ],
)
def test_an_objection_that_was_withdrawn_is_shown_with_the_later_stance(site: Site, question: str) -> None:
    (thread,) = site.json(f"/api/ask?q={quote(question)}")["threads"]
    assert thread["subject"].endswith("Call for adoption: draft-lindqvist-tally-receipts-02")
    assert [(quoted["from"]["name"], quoted["stance"]) for quoted in thread["sentences"]] == [
        ("Leo Fitzgerald", "oppose"),
        ("Leo Fitzgerald", "support"),
    ]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("why was renaming rejected", "All right, I withdraw the proposal."),
        (
            "what did the chair decide about the signature algorithm",
            "There is no consensus to change the mandatory-to-implement algorithm.",
        ),
    ],
)
def test_words_for_an_outcome_need_not_stand_in_the_mail(site: Site, question: str, sentence: str) -> None:
    assert site.json(f"/api/ask?q={quote(question)}")["threads"][0]["sentences"][0]["text"] == sentence
