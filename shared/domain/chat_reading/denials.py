"""The checks of a sentence, in their order, each with the cause that is told of it.

What the cited words deny is refused; what they neither deny nor plainly say is marked as the model's reading.
"""

from collections.abc import Callable

from shared.domain.chat_reading import deeds, sides, turned
from shared.domain.chat_reading.told import Told

_Check = tuple[str, Callable[[Told], bool]]
_DENIALS: tuple[_Check, ...] = (
    ("it speaks of everybody or nobody, and nothing cited does", deeds.speaks_for_everybody),
    ("it says that something is withdrawn, and nothing cited does", deeds.withdraws_unseen),
    ("it speaks of consensus, and nothing cited affirms it", deeds.claims_consensus),
    ("it turns a stance around", sides.turned_stance),
    (
        "it says a stance that nothing cited says",
        lambda told: sides.only_takes_sides(told) and not sides.names_it(told),
    ),
    ("what is announced, asked or wished for is told as done", deeds.told_as_done),
    ("it tells a decision, and nothing cited decides", deeds.decides_unseen),
    ("a question is told as a statement", deeds.states_a_question),
    ('a "not" was lost or added', lambda told: turned.turned_negation(told.folded, told.found)),
    ("it says the contrary of a cited word", lambda told: turned.says_contrary(told.folded, told.cited)),
    ("it speaks of all, and what it cites of a part", turned.widens),
    ("it turns a comparison around", lambda told: turned.turned_comparison(told.folded, told.cited)),
    (
        "it gives a reason that nothing cited gives",
        lambda told: deeds.unshown_motive(told.folded, told.found),
    ),
)
_DOUBTS: tuple[_Check, ...] = (
    ("it says a stance that nothing cited says", sides.unsaid_stance),
    ("a condition was left out", deeds.drops_condition),
    ("a reservation was left out", lambda told: deeds.drops_reservation(told.folded, told.found)),
    ("the stance is on something else", sides.of_something_else),
    ("what may be is told as certain", deeds.is_too_certain),
    ("it speaks of all, and nothing cited does", deeds.speaks_of_all),
)


def denied(told: Told) -> str:
    """Why the cited words deny what the sentence says; empty where they do not."""
    return next((why for why, applies in _DENIALS if applies(told)), "")


def unproven(told: Told) -> str:
    """Why the sentence says more than the cited words, if they do not deny it."""
    return next((why for why, applies in _DOUBTS if applies(told)), "")
