from functools import cache

import pytest

from evaluation.acts import Act, ActModel
from evaluation.cues import FEATURES, cue_vector
from evaluation.data import corpus_files
from evaluation.leda import trained
from evaluation.leda_corpus import read_leda
from tests.evaluation.test_targets import needs_leda


@cache
def model() -> ActModel:
    return trained(read_leda(corpus_files("leda/*.json")))


@needs_leda
@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("I agree with this.", Act.AGREEMENT),
        ("Yes, you are right.", Act.AGREEMENT),
        ("+1 for the above text.", Act.AGREEMENT),
        (
            "I strongly disagree with that, it would not work and I do not see why we should.",
            Act.DISAGREEMENT,
        ),
        ("We have decided to publish, and I will update the draft.", Act.DECISION),
        ("I suggest that we should add a section on this, please.", Act.PROPOSAL),
    ],
)
def test_plain_acts_are_found(text: str, act: Act) -> None:
    assert act in model().acts_of(text)


@needs_leda
@pytest.mark.parametrize("text", ["", "The registry has four columns of sixteen bits."])
def test_information_performs_no_act(text: str) -> None:
    assert model().acts_of(text) == set()


def test_each_feature_has_its_place() -> None:
    assert len(cue_vector("anything")) == len(FEATURES)
