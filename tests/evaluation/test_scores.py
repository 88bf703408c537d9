import json
from pathlib import Path

import numpy as np
import pytest

from evaluation.bc3 import citation_recall, first_sentences_f1, human_f1, shown_f1
from evaluation.bc3_corpus import read_bc3
from evaluation.data import DATA_VARIABLE, MissingDataError, corpus_files
from evaluation.leda_corpus import read_leda
from evaluation.logistic import fit
from evaluation.scores import score, set_f1

CORPUS = """<root><thread><name>Lunch</name><listno>1</listno>
<DOC><Subject>Lunch</Subject><Text>
<Sent id="1.1">The group should have lunch together on Friday at noon.</Sent>
<Sent id="1.2">Regards, Ann</Sent></Text></DOC>
<DOC><Subject>Re: Lunch</Subject><Text>
<Sent id="2.1">&gt; The group should have lunch together on Friday at noon.</Sent>
<Sent id="2.2">Monday would suit the people from abroad much better.</Sent></Text></DOC>
</thread></root>"""
ANNOTATION = """<root><thread><listno>1</listno>
<annotation><summary><sent link="1.1">Ann suggests lunch on Friday.</sent>
<sent link="">Nothing.</sent></summary><sentences><sent id="1.1"/></sentences></annotation>
<annotation><summary><sent link="2.2, 9.9">People from abroad prefer Monday.</sent></summary>
<sentences><sent id="1.1"/><sent id="2.2"/></sentences></annotation>
</thread><thread><listno>2</listno></thread></root>"""


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    result = score(np.array([True, True, False, False]), np.array([True, False, True, False]))
    assert (result.f1, result.precision, result.recall) == (0.5, 0.5, 0.5)
    assert score(np.zeros(3, dtype=bool), np.zeros(3, dtype=bool)).f1 == 0
    assert set_f1({"a", "b"}, {"b"}) == pytest.approx(2 / 3)


def test_the_fit_separates_what_one_feature_separates() -> None:
    features = np.array([[0.0, 1.0]] * 50 + [[1.0, 1.0]] * 50)
    labels = features[:, 0] > 0
    fitted = fit(features, labels)
    assert fitted.weights[0] > 0
    assert abs(fitted.weights[1]) < 1e-6
    assert score(labels, fitted.probabilities(features) > 0.5).f1 == 1


def test_a_corpus_with_people_is_scored_by_hand(tmp_path: Path) -> None:
    (tmp_path / "corpus.xml").write_text(CORPUS)
    (tmp_path / "annotation.xml").write_text(ANNOTATION)
    threads = read_bc3([tmp_path / "corpus.xml"], [tmp_path / "annotation.xml"])
    assert human_f1(threads) == pytest.approx(2 / 3)
    # Such a short thread is shown whole, except for the quoted line and the signature: two against one, and
    # two.
    assert shown_f1(threads) == pytest.approx((2 / 3 + 1) / 2)
    assert first_sentences_f1(threads) == 0
    assert citation_recall(threads, nearest=1) == 1


def leda_entry(sid: int, content: str, labels: str, *context: int) -> dict[str, object]:
    return {
        "current_segment": {"sid": sid, "labels": labels, "content": content},
        "context_segments": [{"sid": one, "labels": "", "content": ""} for one in context],
    }


def test_quotes_of_a_segment_are_peeled(tmp_path: Path) -> None:
    entries = [
        leda_entry(1, "Hello", "Social"),
        leda_entry(2, "> old\nYes, I agree.", "Agreement,InformationProviding,Agreement", 1),
        leda_entry(7, "> > older\n> quoted whole", "InformationProviding"),
        leda_entry(9, "Right", "Agreement", 7),
        leda_entry(20, "Alone", "Social"),
    ]
    (tmp_path / "leda.json").write_text(json.dumps(entries))
    segments = read_leda([tmp_path / "leda.json"])
    assert [segment.text for segment in segments] == [
        "Hello",
        "Yes, I agree.",
        "quoted whole",
        "Right",
        "Alone",
    ]
    assert segments[1].labels == {"Agreement", "InformationProviding"}


def test_missing_corpora_are_named_with_the_variable_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(MissingDataError, match=DATA_VARIABLE):
        corpus_files("leda/*.json")
