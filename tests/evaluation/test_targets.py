"""The figures that the project promises, measured on the corpora where they are."""

from functools import cache

import pytest

from evaluation.acts import Act
from evaluation.bc3 import citation_recall, shown_f1
from evaluation.bc3_corpus import Bc3Thread, read_bc3
from evaluation.data import DATA_VARIABLE, corpus_files, data_folder
from evaluation.leda import cross_validated, features_of
from evaluation.leda_corpus import read_leda

needs_leda = pytest.mark.skipif(
    not (data_folder() / "leda").is_dir(),
    reason=f"LEDA is not here: set {DATA_VARIABLE} to the folder that has leda/",
)
needs_bc3 = pytest.mark.skipif(
    not (data_folder() / "bc3").is_dir(),
    reason=f"BC3 is not here: set {DATA_VARIABLE} to the folder that has bc3/",
)


@cache
def bc3() -> list[Bc3Thread]:
    return read_bc3(corpus_files("bc3/corpus*.xml"), corpus_files("bc3/annotation*.xml"))


@needs_leda
@pytest.mark.parametrize(("act", "least"), [(Act.AGREEMENT, 0.6), (Act.DISAGREEMENT, 0.25)])
def test_acts_are_found_in_threads_that_the_weights_have_not_seen(act: Act, least: float) -> None:
    segments = read_leda(corpus_files("leda/*.json"))
    assert cross_validated(features_of(segments), segments, act).f1 > least


@needs_bc3
def test_the_shown_sentences_are_those_that_people_choose() -> None:
    assert shown_f1(bc3()) >= 0.47


@needs_bc3
def test_a_summarys_sentence_leads_to_its_message() -> None:
    assert citation_recall(bc3()) >= 0.9
