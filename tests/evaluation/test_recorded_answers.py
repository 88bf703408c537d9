"""The checks of the chat model on recorded answers and lies: they keep true claims and refuse lies."""

from collections import Counter

import pytest

from evaluation.checks import cases, fate_of_lie, fates_of_claims, lies_of, paraphrases
from evaluation.data import data_folder, why_skipped

pytestmark = pytest.mark.skipif(
    not (data_folder() / "consensus").is_dir(),
    reason=why_skipped("consensus/"),
)


# By part: the largest shares of true sentences refused, of true sentences marked, and of unmarked lies, and
# the smallest share of refused lies. The author of the fourth part had not seen the checks.
FLOORS = {"third": (0.04, 0.15, 0.12, 0.6), "fourth": (0.06, 0.2, 0.23, 0.4)}


@pytest.mark.parametrize("part", FLOORS)
def test_true_claims_stay_and_lies_do_not(part: str) -> None:
    refused, marked, unmarked, least_refused = FLOORS[part]
    found = list(cases([part]))
    assert len(found) >= 12
    assert all(case.is_of_this_prompt for case in found)  # otherwise record the answers again
    kept: Counter[str] = sum((fates_of_claims(case, case.read()) for case in found), Counter())
    told = Counter(fate_of_lie(case, lie) for case in found for lie in lies_of(case))
    sentences = sum(count for fate, count in kept.items() if fate.startswith("sentence"))
    assert sentences >= 30
    assert kept["sentence refused"] <= refused * sentences
    assert kept["sentence marked"] <= marked * sentences
    assert told.total() >= 45
    assert told["unmarked"] <= unmarked * told.total()
    assert told["refused"] >= least_refused * told.total()


def test_sentences_in_words_of_their_own_stay_and_lies_in_them_do_not() -> None:
    told = paraphrases()
    sentences, lies = (
        sum(count for fate, count in told.items() if fate.startswith(kind)) for kind in ("sen", "lie")
    )
    assert (sentences, lies) == (70, 70)
    assert told["sentence refused"] <= 0.04 * sentences
    assert told["sentence marked"] <= 0.3 * sentences
    assert told["lie stated"] <= 0.08 * lies
    assert told["lie refused"] >= 0.6 * lies
