"""A thread's messages in pages: what is needed is sent at first, the rest on demand."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from shared.documents.threads import Message
from shared.retrieval.conversation import Placed
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
        weight = _weight(reply.message)
        if count and (count >= MESSAGES_A_PAGE or chars + weight > CHARS_A_PAGE):
            page, count, chars = page + 1, 0, 0
        numbers[reply.message.id] = page
        count, chars = count + 1, chars + weight
    return numbers


def _weight(message: Message) -> int:
    text = message.body_raw[:MOST_CHARS]
    return _FRAME + len(text) + _ESCAPE * len(_ESCAPED.findall(text))
