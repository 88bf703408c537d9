import pytest

from shared.consensus import Act, default_model
from shared.consensus.cues import FEATURES, cue_vector


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
    assert act in default_model().acts_of(text)


def test_information_performs_no_act() -> None:
    assert default_model().acts_of("The registry has four columns of sixteen bits.") == set()


def test_each_feature_has_its_weight() -> None:
    model = default_model()
    assert len(cue_vector("anything")) == len(FEATURES)
    assert all(len(weights.weights) == len(FEATURES) for weights in model.acts.values())
    assert set(model.acts) == set(Act)


def test_an_empty_segment_is_no_error() -> None:
    assert set(default_model().probabilities("")) == set(Act)
