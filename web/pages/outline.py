"""The reply tree of a thread, and the replies that can be collapsed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.retrieval.conversation import Placed
from web.formatting import writer

DEEPEST = 8  # answers below this depth are not indented further
INLINE = 60  # a longer outline is a page of its own, loaded into this one on demand
LONG = 6  # shorter threads are seen at once
_ENOUGH = 2  # answers below a message, to fold them away together


@dataclass(frozen=True)
class OutlineRow:
    name: str
    indent: int
    stance: str
    at: datetime | None
    address: str | None
    answers: str  # who wrote what it answers


def outline_rows(
    placed: Sequence[Placed], stances: Mapping[str, str], address: Callable[[str], str | None]
) -> list[OutlineRow]:
    return [
        OutlineRow(
            name=_name(reply),
            indent=min(reply.depth, DEEPEST),
            stance=stances.get(reply.message.id, ""),
            at=reply.message.date,
            address=address(reply.message.id),
            answers=writer(reply.parent.from_) if reply.parent else "",
        )
        for reply in placed
    ]


def _name(reply: Placed) -> str:
    return writer(reply.message.from_)


@dataclass(frozen=True)
class Fold:
    """After a message: how many answers begin to be foldable, and how many folds end."""

    opens: int = 0
    closes: int = 0


def folds(placed: Sequence[Placed]) -> list[Fold]:
    """Where several answer the same, the answers below each of them fold away together.

    Never deeper than what is indented: a chain of answers can be hundreds long.
    """
    below = _below(placed)
    siblings: dict[str, int] = {}
    for reply in placed:
        above = reply.parent.id if reply.parent else ""
        siblings[above] = siblings.get(above, 0) + 1
    opens = [
        count
        if count >= _ENOUGH
        and 0 < reply.depth <= DEEPEST
        and siblings[reply.parent.id if reply.parent else ""] > 1
        else 0
        for reply, count in zip(placed, below, strict=True)
    ]
    closes = [0] * len(placed)
    for number, count in enumerate(opens):
        if count:
            closes[number + count] += 1
    return [Fold(*ends) for ends in zip(opens, closes, strict=True)]


def _below(placed: Sequence[Placed]) -> list[int]:
    """How many of these messages stand below each."""
    counts = [0] * len(placed)
    above: list[int] = []
    depths = [*(reply.depth for reply in placed), -1]  # the end closes all
    for number, depth in enumerate(depths):
        while above and depths[above[-1]] >= depth:
            over = above.pop()
            counts[over] = number - over - 1
        above.append(number)
    return counts
