"""A thread's messages in pages: what is needed is sent at first, the rest on demand."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from shared.views.conversation import Placed
from web.formatting import writer
from web.pages.message_body import MOST_CHARS
from web.problems import bad_parameter

MESSAGES_A_PAGE, CHARS_A_PAGE = 50, 32_000
_AROUND = 4
_FRAME = 600  # what a page needs for each message besides its text
_ESCAPED = re.compile(r"[<>&\"']")
_ESCAPE = 4  # `<` is sent as `&lt;`


@dataclass(frozen=True)
class Pages:
    """A thread's messages in pages; most have one."""

    number: int
    page_numbers: Mapping[str, int]  # by message
    kept: str = ""  # what addresses of other pages begin with: the report whose citations are marked

    @property
    def count(self) -> int:
        return max(self.page_numbers.values(), default=1)

    @property
    def following(self) -> str | None:
        return self.of_number(self.number + 1) if self.number < self.count else None

    @property
    def near(self) -> list[int]:
        """The first, the last, and those around this one."""
        around = range(max(1, self.number - _AROUND), min(self.count, self.number + _AROUND) + 1)
        return sorted({1, *around, self.count})

    def of_number(self, number: int) -> str:
        return f"?{self.kept}page={number}"

    def address(self, message_key: str | None, anchor: str) -> str | None:
        """Of an anchor in a message: on this page, or on another."""
        page = self.page_numbers.get(message_key or "")
        if page is None:
            return None
        return f"#{anchor}" if page == self.number else f"?{self.kept}at={message_key}#{anchor}"

    def shown(self, placed: Sequence[Placed]) -> list[Placed]:
        return [reply for reply in placed if self.page_numbers[reply.message.id] == self.number]


def in_pages(placed: Sequence[Placed], at: str | None, page: str, report: str = "") -> Pages:
    """The page that holds message `at`, or that of this number."""
    page_numbers = _numbers(placed)
    count = max(page_numbers.values(), default=1)
    kept = f"report={quote(report)}&" if report else ""
    if at is not None and at in page_numbers:
        return Pages(page_numbers[at], page_numbers, kept)
    if not (re.fullmatch(r"[0-9]{1,6}", page) and 1 <= int(page) <= count):
        raise bad_parameter("page", f"must be a number from 1 to {count}")
    return Pages(int(page), page_numbers, kept)


def _numbers(placed: Sequence[Placed]) -> dict[str, int]:
    """A page is full by its messages or by their text; one message is never cut in two."""
    numbers: dict[str, int] = {}
    page, count, chars = 1, 0, 0
    for reply in placed:
        text = reply.message.body_raw[:MOST_CHARS]
        weight = _FRAME + len(text) + _ESCAPE * len(_ESCAPED.findall(text))
        if count and (count >= MESSAGES_A_PAGE or chars + weight > CHARS_A_PAGE):
            page, count, chars = page + 1, 0, 0
        numbers[reply.message.id] = page
        count, chars = count + 1, chars + weight
    return numbers


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
            name=writer(reply.message.from_),
            indent=min(reply.depth, DEEPEST),
            stance=stances.get(reply.message.id, ""),
            at=reply.message.date,
            address=address(reply.message.id),
            answers=writer(reply.parent.from_) if reply.parent else "",
        )
        for reply in placed
    ]


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
