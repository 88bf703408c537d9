"""The checks of the chat model on recorded answers and lies: true claims stay, lies do not."""

from collections import Counter

import pytest

from evaluation.checks import cases, fate_of_lie, fates_of_claims, lies_of
from evaluation.data import data_folder, why_skipped

pytestmark = pytest.mark.skipif(
    not (data_folder() / "consensus").is_dir(),
    reason=why_skipped("consensus/"),
)


def test_true_claims_stay_and_lies_do_not() -> None:
    found = list(cases(["third"]))
    assert len(found) >= 12
    assert all(case.is_of_this_prompt for case in found)  # else record the answers anew
    kept: Counter[str] = sum((fates_of_claims(case, case.read()) for case in found), Counter())
    told = Counter(fate_of_lie(case, lie) for case in found for lie in lies_of(case))
    sentences = sum(count for fate, count in kept.items() if fate.startswith("sentence"))
    assert sentences >= 30
    assert kept["sentence refused"] <= 0.04 * sentences
    assert kept["sentence marked"] <= 0.15 * sentences
    assert told.total() >= 45
    assert told["unmarked"] <= 0.12 * told.total()
    assert told["refused"] >= 0.6 * told.total()
