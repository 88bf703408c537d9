"""Pages of a thread's messages. Only the requested page is sent."""

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
_FRAME = 600  # size of the markup of a message
_ESCAPED = re.compile(r"[<>&\"']")
_ESCAPE = 4  # `<` is sent as `&lt;`


@dataclass(frozen=True)
class Pages:
    """The messages of a thread in pages. Most threads have one page."""

    number: int
    page_numbers: Mapping[str, int]  # by message
    kept: str = ""  # the beginning of addresses of other pages, with the report whose citations are marked

    @property
    def count(self) -> int:
        return max(self.page_numbers.values(), default=1)

    @property
    def following(self) -> str | None:
        return self.of_number(self.number + 1) if self.number < self.count else None

    @property
    def near(self) -> list[int]:
        around = range(max(1, self.number - _AROUND), min(self.count, self.number + _AROUND) + 1)
        return sorted({1, *around, self.count})

    def of_number(self, number: int) -> str:
        return f"?{self.kept}page={number}"

    def address(self, message_key: str | None, anchor: str) -> str | None:
        page = self.page_numbers.get(message_key or "")
        if page is None:
            return None
        return f"#{anchor}" if page == self.number else f"?{self.kept}at={message_key}#{anchor}"

    def shown(self, placed: Sequence[Placed]) -> list[Placed]:
        return [reply for reply in placed if self.page_numbers[reply.message.id] == self.number]


def in_pages(placed: Sequence[Placed], at: str | None, page: str, report: str = "") -> Pages:
    page_numbers = _numbers(placed)
    count = max(page_numbers.values(), default=1)
    kept = f"report={quote(report)}&" if report else ""
    if at is not None and at in page_numbers:
        return Pages(page_numbers[at], page_numbers, kept)
    if not (re.fullmatch(r"[0-9]{1,6}", page) and 1 <= int(page) <= count):
        raise bad_parameter("page", f"must be a number from 1 to {count}")
    return Pages(int(page), page_numbers, kept)


def _numbers(placed: Sequence[Placed]) -> dict[str, int]:
    """Assign page numbers by number and size of messages. A message is never split."""
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


DEEPEST = 8  # deeper replies are not indented further
INLINE = 60  # a longer outline is a page of its own that is loaded on request
LONG = 6  # shorter threads have no outline
_ENOUGH = 2  # replies below a message that are collapsed together


@dataclass(frozen=True)
class OutlineRow:
    name: str
    indent: int
    stance: str
    at: datetime | None
    address: str | None
    answers: str  # the writer of the message that is answered


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
    """The number of replies to collapse after a message, and the number of groups that end."""

    opens: int = 0
    closes: int = 0


def folds(placed: Sequence[Placed]) -> list[Fold]:
    """Return the groups of replies to collapse: replies below siblings, up to the deepest indentation.

    A chain of replies can be hundreds long.
    """
    below = _below(placed)
    siblings: dict[str, int] = {}
    for reply in placed:
        parent = reply.parent.id if reply.parent else ""
        siblings[parent] = siblings.get(parent, 0) + 1
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
    counts = [0] * len(placed)
    ancestors: list[int] = []
    depths = [*(reply.depth for reply in placed), -1]  # the end closes all groups
    for number, depth in enumerate(depths):
        while ancestors and depths[ancestors[-1]] >= depth:
            ancestor = ancestors.pop()
            counts[ancestor] = number - ancestor - 1
        ancestors.append(number)
    return counts
