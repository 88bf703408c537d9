"""A sentence that credits the wrong person, or claims more than its quotes, is marked as the model's reading."""

import pytest

from tests.model_reading.threads import mails, read, said

THREAD = mails(
    ("Ann Author", "I propose a header that carries the renumbering interval of a site."),
    ("Bob Builder", "The interval belongs into the options, because old parsers drop unknown headers."),
    ("Carl Critic", "I suspect that the checksum breaks with an interval longer than a day."),
    ("Dora Doubt", "I am against the header, it doubles the size of every probe."),
    ("Eva Early", "I will move the examples to an appendix."),
    ("Dora Doubt", "You are right, the probe stays small. I withdraw my objection."),
)

TRUE = [
    ("Ann Author proposes a header that carries the renumbering interval.", [1]),
    ("Bob Builder wants the interval in the options because old parsers drop unknown headers.", [2]),
    ("Carl Critic suspects that the checksum breaks with an interval longer than a day.", [3]),
    ("Dora Doubt was first against the header, as it doubles the size of every probe.", [4]),
    ("Eva Early will move the examples to an appendix.", [5]),
    ("Ann Author proposes a header, while Bob Builder wants the interval in the options.", [1, 2]),
]
FALSE = [
    ("Bob Builder proposes a header that carries the renumbering interval of a site.", [2], "another person"),
    (
        "Ann Author says old parsers drop unknown headers; Bob Builder proposes to carry the interval of a site.",
        [1, 2],
        "another person",
    ),
    ("The checksum breaks with an interval longer than a day.", [3], "less sure"),
    ("Dora Doubt is against the header, as it doubles the size of every probe.", [4], "otherwise later"),
    ("Bob Builder wants the interval in the options if old parsers drop headers.", [2], "condition"),
]


def _sentence(text: str, cited: list[int]) -> dict[str, object]:
    return {"text": text, "evidence": [said(mail, THREAD[mail - 1].text.split(". ")[0]) for mail in cited]}


@pytest.mark.parametrize(("text", "cited"), TRUE, ids=[text for text, _ in TRUE])
def test_a_sentence_that_credits_the_right_person_is_stated(text: str, cited: list[int]) -> None:
    model = read(THREAD, summary=[_sentence(text, cited)]).model
    assert model is not None
    assert [(one.text, one.is_borne) for one in model.narrative] == [(text, True)], model


@pytest.mark.parametrize(("text", "cited", "why"), FALSE, ids=[text for text, _, _ in FALSE])
def test_a_sentence_that_says_more_than_its_quotes_is_marked(text: str, cited: list[int], why: str) -> None:
    model = read(THREAD, summary=[_sentence(text, cited)]).model
    assert model is not None
    assert [one.is_borne for one in model.narrative] == [False], model
    assert any(why in marked for marked in model.marked), model.marked
