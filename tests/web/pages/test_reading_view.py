"""A page's view of a reading: claims, quotes, the fate of objections, open calls."""

from datetime import UTC, date, datetime
from typing import Any

from shared.core.ids import person_id
from shared.models.readings import StoredReading
from shared.models.reports import Report, Summary
from shared.models.values import Fate, SummaryType
from shared.views.topics import stands_of
from tests.web.markup import parsed
from web.pages.reading_view import QuotePlaces, ReadingView, call_state, reading_view
from web.pages.summary_view import summary_view
from web.rendering import environment

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def quote(number: int, words: str) -> dict[str, Any]:
    return {"message_id": f"<{number}>", "start": 0, "end": len(words), "quote": words}


def position(number: int, person: str, stance: str, tier: str, words: str) -> dict[str, Any]:
    return {
        "person": person, "name": person, "stance": stance, "tier": tier, "confidence": 0.9,
        "citation": quote(number, words), "answers": "<0>",
    }  # fmt: skip


def reading(**changes: Any) -> StoredReading:
    outcome = {
        "kind": "unresolved", "tier": "remark", "confidence": 0.4, "sentence": "No decision found.",
        "basis": "unknown",
    }  # fmt: skip
    values: dict[str, Any] = {
        "lang": "en",
        "genre": {"kind": "proposal", "confidence": 0.9, "tier": "said"},
        "proposition": {"message_id": "<0>", "form": "text", "proposer": "ada@x"},
        "outcome": outcome,
        "headline": {"asked": "Shall we?", "came_out": "No decision found.", "left": ""},
        "has_consensus": False,
        "basis": "unknown",
    }
    return StoredReading.model_validate({**values, **changes})


def view(**changes: Any) -> ReadingView:
    places = QuotePlaces(
        people={"bo@x": "Bo Example"},
        senders={"<1>": "Bo", "<2>": "Cy"},
        sentence=lambda cited: f"#{cited.message_id}",
        message=lambda message_id: f"#m-{message_id}",
    )
    return reading_view(reading(**changes), places, NOW)


def markup(made: ReadingView) -> str:
    summary = Summary(
        created_at=NOW, id="s", summary_id="s", scope="t", thread_id="t", summary_type=SummaryType.THREAD,
        title="T", content_markdown="", content_html="", generated_by="test", generated_at=NOW,
    )  # fmt: skip
    shown = summary_view(summary, [], made)
    module: Any = environment().get_template("parts.html").module
    return f"{module.reading(shown)}{module.rest(shown)}"


def rendered(made: ReadingView) -> str:
    return str(parsed(f"<body>{markup(made)}</body>").text)


def test_a_position_has_its_line_with_the_sentence_and_what_it_answers() -> None:
    made = view(positions=[position(1, "bo@x", "support", "said", "I support this.")])
    (line,) = made.positions
    assert (line.says, line.sentence.name, line.answers) == ("supports it", "Bo", "the proposal")
    assert (line.sentence.address, line.answers_address) == ("#<1>", "#m-<0>")
    assert made.positions_heading == "Positions"


def test_what_was_agreed_stands_only_over_what_was() -> None:
    said = [position(number, f"{number}@x", "support", "said", "I support this.") for number in (1, 2)]
    agreed = "What was agreed, and by whom"
    assert view(has_consensus=True, positions=said[:1]).positions_heading != agreed
    assert view(has_consensus=True, positions=said).positions_heading != agreed
    outcome = {
        "kind": "accepted", "tier": "said", "confidence": 0.9, "sentence": "Accepted.", "basis": "ruled",
    }  # fmt: skip
    assert view(has_consensus=True, positions=said[:1], outcome=outcome).positions_heading == agreed
    assert view(has_consensus=False, positions=said, outcome=outcome).positions_heading != agreed


def test_a_remark_is_quoted_without_a_stance() -> None:
    words = "I doubt <b>that</b>."
    made = view(positions=[position(2, "cy@x", "oppose", "remark", words)])
    assert (made.positions, [one.quote for one in made.remarks]) == ([], [words])
    text = rendered(made)
    assert words in text
    assert "objects" not in text
    assert "No decision found" in text


def test_every_objection_has_its_fate() -> None:
    objections = [
        {"person": "bo@x", "citation": quote(9, f"No, {fate.value}."), "fate": fate.value} for fate in Fate
    ]
    for one, fate in zip(objections, Fate, strict=True):
        made = view(objections=[one], positions=[position(9, "bo@x", "oppose", "said", f"No, {fate.value}.")])
        (line,) = made.objections
        assert (line.is_outstanding, line.sentence.name) == (fate is Fate.OUTSTANDING, "Bo Example")
        text = rendered(made)
        assert line.fate in text
        assert ("Objections" in text) is bool(line.fate)
    assert "bjections" not in rendered(view(objections=objections))


def test_where_nobody_stands_anywhere_the_latest_remarks_are_quoted() -> None:
    remark = {
        "person": "bo@x", "name": "Bo", "at": "2026-01-01T10:00:00Z", "citation": quote(1, "The name is wrong."),
    }  # fmt: skip
    text = rendered(view(latest=[remark]))
    assert text.index("Latest remarks") < text.index("The name is wrong.") < text.index("1 January 2026")
    held = [position(2, "cy@x", "support", "said", "I support this.")]
    assert "Latest remarks" not in rendered(view(latest=[remark], positions=held))


def test_only_plain_questions_and_proposals_are_called_what_was_asked() -> None:
    def asked(form: str, words: str) -> bool:
        put = {"message_id": "<0>", "form": form, "proposer": "ada@x", "words": quote(0, words)}
        return "Asked" in rendered(view(proposition=put))

    assert asked("text", "I propose that we drop it.")
    assert asked("call", "Please say whether you support adoption.")
    assert not asked("vote", "The vote is open for 72 hours.")
    assert not asked("text", "My proposal is to do this:")
    assert not asked("text", "The server crashes at times.")
    assert not asked("patch", "I propose that we count the entries.")


def test_an_open_call_says_what_is_asked_until_when_and_who_has_spoken() -> None:
    call = {
        "question": quote(0, "Do you support adoption?"), "ends": "2026-02-03",
        "spoken": ["bo@x", "cy@x"], "outstanding": [quote(2, "Not yet.")],
    }  # fmt: skip
    text = rendered(view(open_call=call))
    for words in (
        "Do you support adoption?",
        "Open until 3 February 2026.",
        "Bo Example, c*@x",
        "Not yet.",
    ):
        assert words in text


def test_a_call_whose_time_is_over_is_not_called_open() -> None:
    today = date(2026, 1, 2)
    assert call_state(today, today) == "Open until 2 January 2026."
    assert call_state(date(2026, 1, 1), today) == "Ended 1 January 2026, no result found."
    assert "no deadline given" in call_state(None, today)


def test_a_correction_is_shown_with_its_author() -> None:
    done = {"by": "ann", "at": "2026-01-01T10:00:00Z", "reason": "I asked her", "correction_id": "0" * 32}
    corrections = [{**done, "kind": "position", "message_id": "<1>", "person": "bo@x"}]
    made = view(positions=[position(1, "bo@x", "oppose", "said", "Hm.")], corrections=corrections)
    assert "Corrected by ann on 1 January 2026." in rendered(made)
    ((what, by),) = made.corrections
    assert (what, by.by) == ("The position of Bo Example", "ann")


def test_a_quote_in_another_language_carries_its_code() -> None:
    german = "Ich bin nicht sicher, ob wir das noch brauchen, und die Frage ist auch offen."
    made = view(positions=[position(2, "cy@x", "oppose", "remark", german)])
    assert '<q lang="de">' in markup(made)
    english = view(positions=[position(2, "cy@x", "oppose", "remark", "I am not sure that we need this.")])
    assert "lang=" not in markup(english)


def test_a_quote_stands_once_and_is_named_where_it_counts_again() -> None:
    words = "I object to this."
    made = view(
        positions=[position(1, "bo@x", "oppose", "said", words)],
        objections=[{"person": "bo@x", "citation": quote(1, words), "fate": "outstanding"}],
    )
    text = rendered(made)
    assert text.count(words) == 1
    assert made.objections[0].sentence.again
    assert "Objections" in text
    assert "1 objection apparently unresolved" in text
    assert '<a href="#objections">' in markup(made)


def test_a_tally_says_what_became_of_the_objections_it_counts() -> None:
    said = [position(number, f"{number}@x", "oppose", "said", f"I object, {number}.") for number in (1, 2)]
    fates = [
        {"person": f"{number}@x", "citation": quote(number, f"I object, {number}."), "fate": fate}
        for number, fate in ((1, "outstanding"), (2, "answered"))
    ]
    text = rendered(view(positions=said, objections=fates))
    assert "At least 2 objecting. Objections: 1 apparently unresolved, 1 apparently answered." in text
    assert "1 objection apparently unresolved" in text


def test_an_objection_that_is_quoted_as_a_position_is_listed_only_with_what_became_of_it() -> None:
    said = [position(1, "bo@x", "oppose", "said", "I object.")]
    unclear = [{"person": "bo@x", "citation": quote(1, "I object."), "fate": "unclear"}]
    text = rendered(view(positions=said, objections=unclear))
    assert "Objections" not in text
    assert text.count("Bo:") == 1


def test_a_withdrawn_objection_stands_with_the_words_that_withdraw_it() -> None:
    changed = position(2, "bo@x", "support", "said", "I support this.") | {
        "earlier": {"stance": "oppose", "citation": quote(1, "I object.")}
    }
    gone = {"person": "bo@x", "citation": quote(1, "I object."), "fate": "withdrawn",
            "withdrawal": quote(3, "I withdraw my objection.")}  # fmt: skip
    made = view(positions=[changed], objections=[gone])
    text = rendered(made)
    assert "At least 1 in support. Objections: 1 withdrawn." in text
    assert "quoted above withdrawn I withdraw my objection." in " ".join(text.split())
    assert '<q><a href="#&lt;3&gt;">I withdraw my objection.</a></q>' in markup(made)
    assert text.count("I object.") == 1


def test_a_tally_and_a_closing_statement_are_quoted_with_name_and_role() -> None:
    by = {"person": "cy@x", "name": "Cy", "role": "chair"}
    tally = {"citation": quote(2, "Four are for it."), "by": by}
    outcome = {
        "kind": None, "tier": "remark", "confidence": 0.5, "basis": "ruled",
        "sentence": "Closing statement by Cy (chair).", "evidence": [quote(2, "This ends the call.")],
        "authority": by,
    }  # fmt: skip
    text = " ".join(rendered(view(tallies=[tally], outcome=outcome)).split())
    assert "Closing statement · by Cy (chair)." in text
    assert "Cy: This ends the call." in text
    assert "Tally Cy (chair): Four are for it." in text.replace("TallyCy", "Tally Cy")


def test_what_was_asked_and_what_shows_the_outcome_stand_first() -> None:
    outcome = {
        "kind": "accepted", "tier": "said", "confidence": 0.9, "sentence": "Accepted by Cy.", "basis": "ruled",
        "evidence": [quote(2, "We take it.")],
    }  # fmt: skip
    asked = {
        "message_id": "<0>",
        "form": "text",
        "proposer": "ada@x",
        "words": quote(0, "Should we drop the field?"),
    }
    text = rendered(view(outcome=outcome, proposition=asked))
    places = [
        text.index(words)
        for words in ("· by Cy.", "We take it.", "Should we drop the field?", "Nothing found")
    ]
    assert places == sorted(places)


def test_a_line_says_when_a_position_was_taken() -> None:
    taken = {**position(1, "bo@x", "support", "said", "I support this."), "at": "2026-01-01T10:00:00Z"}
    assert "1 January 2026" in rendered(view(positions=[taken]))


def test_what_is_odd_about_a_position_stands_beside_it_wherever_it_is_shown() -> None:
    forged = position(1, "bo@x", "support", "said", "I support this.") | {
        "marks": [
            "unauthenticated sender",
            "conflicting content under the same Message-ID",
            "<b>not markup</b>",
        ]
    }
    made = view(positions=[forged, position(2, "cy@x", "oppose", "said", "I object.")])
    shown = [(*line.marks, *line.sentence.marks) for line in made.positions]
    assert [len(marks) for marks in shown] == [3, 0]
    text = rendered(made)
    assert text.count("unauthenticated sender") == text.count("conflicting content") == 1
    assert "<b>not markup</b>" not in markup(made)
    report = Report(
        created_at=NOW, id="r", report_id="r", scope="t", summary_id="s", thread_id="t", title="T",
        published_at=NOW,
    )  # fmt: skip
    (stand,) = stands_of(person_id("bo@x"), report, reading(positions=[forged]))
    assert len(stand.marks) == 3


def test_who_moved_a_message_when_and_why_stands_on_both_threads() -> None:
    placed = {"message_id": "<1>", "act": "moved", "by": "ann", "at": NOW, "reason": "<i>another matter</i>"}
    made = view(placements=[{**placed, "is_here": True}, {**placed, "is_here": False}])
    module: Any = environment().get_template("parts.html").module
    html = str(module.placements(made))
    text = str(parsed(f"<body>{html}</body>").text)
    assert ("was moved to this thread by" in text, "was moved to another thread by" in text) == (True, True)
    assert "<i>another matter</i>" in text
    assert "<i>another" not in html
