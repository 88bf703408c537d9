"""The figures that the project promises, measured on the corpora if the machine has them."""

from functools import cache

import pytest

from evaluation.bc3 import citation_recall, shown_f1
from evaluation.bc3_corpus import Bc3Thread, read_bc3
from evaluation.data import corpus_files, data_folder, why_skipped
from evaluation.leda import Act, acts_of, scored
from evaluation.leda_corpus import read_leda
from evaluation.scores import Score

needs_leda = pytest.mark.skipif(
    not (data_folder() / "leda").is_dir(),
    reason=why_skipped("LEDA"),
)
needs_bc3 = pytest.mark.skipif(
    not (data_folder() / "bc3").is_dir(),
    reason=why_skipped("BC3"),
)


@cache
def bc3() -> list[Bc3Thread]:
    return read_bc3(corpus_files("bc3/corpus*.xml"), corpus_files("bc3/annotation*.xml"))


@cache
def acts() -> dict[Act, Score]:
    return scored(read_leda(corpus_files("leda/*.json")))


@needs_leda
@pytest.mark.parametrize(("act", "least"), [(Act.AGREEMENT, 0.9), (Act.PROPOSAL, 0.55), (Act.DECISION, 0.45)])
def test_the_shipped_wordings_find_acts_in_mail_that_they_were_not_written_for(
    act: Act, least: float
) -> None:
    found = acts()[act]
    assert found.expected > 20, "nothing to find"
    assert found.precision >= least
    assert found.recall > 0.05, "silence is right, too"


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("I agree with this.", Act.AGREEMENT),
        ("+1 for the above text.", Act.AGREEMENT),
        ("I strongly disagree with this proposal.", Act.DISAGREEMENT),
        ("We have decided to publish, and I will update the draft.", Act.DECISION),
        ("I suggest that we add a section on this.", Act.PROPOSAL),
    ],
)
def test_plain_acts_are_found(text: str, act: Act) -> None:
    assert act in acts_of(text)


@pytest.mark.parametrize("text", ["", "The registry has four columns of sixteen bits."])
def test_information_performs_no_act(text: str) -> None:
    assert acts_of(text) == set()


@needs_bc3
def test_the_shown_sentences_are_those_that_people_choose() -> None:
    assert shown_f1(bc3()) >= 0.49


@needs_bc3
def test_a_summarys_sentence_leads_to_its_message() -> None:
    assert citation_recall(bc3()) >= 0.9
