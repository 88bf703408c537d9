"""Subjects without the prefixes of mailers and lists. All knowledge of "Re:" is here."""

# ruff: noqa: RUF001 -- mail is written in other scripts, too

import re
from typing import NamedTuple

_MARK = re.compile(
    r"[\s'\"]*(?P<reply>re|aw|sv|antw|vs|ref|odp|ynt|rif|res|bls|atb|ha|отв|回复|答复|回覆|返信)"
    r"\s*(?:\[\d{1,3}\]|\(\d{1,3}\)|\^\d{1,3}|\*\d{1,3})?\s*[:：]"
    r"|\s*(?P<forward>fwd?|wg|tr|rv|enc|转发|轉寄)\s*[:：]",
    re.IGNORECASE,
)
_TAG = re.compile(r"\s*\[([^\[\]]{0,80})\]")
_MAX_LAYERS = 20


class SplitSubject(NamedTuple):
    text: str
    """The subject without reply marks, forward marks and bracketed tags before it."""
    tags: tuple[str, ...]
    is_reply: bool
    is_forward: bool

    @property
    def title(self) -> str:
        return self.text or (f"[{self.tags[-1]}]" if self.tags else "")


def split_subject(subject: str) -> SplitSubject:
    rest, mark = subject, ""
    tags: list[str] = []
    for _ in range(_MAX_LAYERS):
        if found := _MARK.match(rest):
            mark = mark or found.lastgroup or ""
        elif found := _TAG.match(rest):
            tags.append(found[1])
        else:
            break
        rest = rest[found.end() :]
    text, first = rest.strip(), subject[:1]
    if mark and first in {"'", '"'} and text.endswith(first):  # 'Re: a title'
        text = text[:-1]
    return SplitSubject(text, tuple(tags), mark == "reply", mark == "forward")
