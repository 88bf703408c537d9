"""Subjects as keys: what two mails of one discussion have in common when their threading headers are lost."""

# ruff: noqa: RUF001 -- mail is written in other scripts, too

import re
from functools import lru_cache
from typing import NamedTuple

_TAG = re.compile(r"\s*\[([^\[\]]{0,80})\]")
_REPLY = re.compile(
    r"[\s'\"]*(?:re|aw|sv|antw|vs|ref|odp|ynt|rif|res|bls|atb|ha|отв|回复|答复|回覆|返信)"
    r"\s*(?:\[\d{1,3}\]|\(\d{1,3}\)|\^\d{1,3}|\*\d{1,3})?\s*[:：]",
    re.IGNORECASE,
)
_FORWARD = re.compile(r"\s*(?:fwd?|wg|tr|rv|enc|转发|轉寄)\s*[:：]", re.IGNORECASE)
_WAS = re.compile(r"\s*[(\[]\s*was\s*:?\s.{0,300}[)\]]?\s*$", re.IGNORECASE)
_PATCH = re.compile(r"\bpatch\b|\brfc\b|\bv\d{1,3}\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b(\d{1,3})/(\d{1,3})\s*$")
_VERSION = re.compile(r"\bv(\d{1,3})\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_MIN_LETTERS = 5
_MAX_KEY = 200
_MAX_LAYERS = 20
# Subjects that say nothing: two mails that share one need not share a discussion.
_EMPTY_WORDS = frozenset(
    [
        "hello",
        "hi",
        "help",
        "test",
        "testing",
        "question",
        "questions",
        "problem",
        "problems",
        "info",
        "information",
        "request",
        "update",
        "urgent",
        "thanks",
        "none",
        "no",
        "subject",
        "untitled",
        "status",
        "report",
        "meeting",
        "minutes",
        "agenda",
        "reminder",
        "patch",
        "rfc",
        "bug",
        "issue",
    ]
)


TITLE_AFTER = "|"
"""Between what tells patches apart and their title: no word has it."""


class SubjectKey(NamedTuple):
    key: str
    """The normalised subject; empty where it says too little to thread by."""
    is_reply: bool
    """Or passes on what somebody wrote under this subject."""
    series: str
    """What the mails of one numbered patch series have in common, e.g. `v2/7`; empty for other mail."""
    is_cover: bool
    version: int = 0
    """Of a patch; 0 for other mail."""
    title: str = ""
    """What the versions of a patch have in common; empty where it says too little."""


@lru_cache(maxsize=4096)
def read_subject(subject: str) -> SubjectKey:
    """Take off reply marks and list tags, keep what tells patches of a series apart."""
    rest, is_reply, series, is_cover, version = subject, False, "", False, 0
    kept: list[str] = []
    for _ in range(_MAX_LAYERS):
        if reply := _REPLY.match(rest):
            rest, is_reply = rest[reply.end() :], True
        elif forward := _FORWARD.match(rest):
            rest, is_reply = rest[forward.end() :], True
        elif tag := _TAG.match(rest):
            rest = rest[tag.end() :]
            if _PATCH.search(tag[1]):
                kept.append(" ".join(_WORD.findall(tag[1].lower())))
                series, is_cover = _series(tag[1])
                version = _version(tag[1])
        else:
            break
    rest = _WAS.sub("", rest)
    words = _WORD.findall(rest.lower())
    title = " ".join(words)[:_MAX_KEY] if _is_specific(words) else ""
    tags = " ".join(kept)[:_MAX_KEY]
    key = (f"{tags}{TITLE_AFTER}{title}" if tags else title) if title else ""
    return SubjectKey(key, is_reply, series, is_cover, version, title if version else "")


def _is_specific(words: list[str]) -> bool:
    telling = [word for word in words if word not in _EMPTY_WORDS and not word.isdigit()]
    return sum(map(len, telling)) >= _MIN_LETTERS


def _series(tag: str) -> tuple[str, bool]:
    """What the mails of a series share, and whether this is its cover letter (number 0)."""
    number = _NUMBER.search(tag)
    if number is None:
        return "", False
    return f"v{_version(tag)}/{int(number[2])}", int(number[1]) == 0


def _version(tag: str) -> int:
    version = _VERSION.search(tag)
    return max(1, int(version[1])) if version else 1
