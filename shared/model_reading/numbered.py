"""Renders a thread as numbered mails for a chat model, in as many parts as its window needs.

Mail is passed as JSON strings that no text can end, and the instructions say that it is data. The reader
relies on neither: `checked.py` checks every claim of the answer.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shared.mail.subjects import split_subject
from shared.model_reading.own_words import diff_note, quotable
from shared.model_reading.prompt import INSTRUCTIONS, MERGE_NOTE
from shared.reading.linked_thread import LinkedMail, LinkedThread, display_name
from shared.reading.mails import OwnSentence

CountTokens = Callable[[str], int]
MAX_PARTS = 12
"""The most calls for one thread without the merging call, so that the cost of a thread is bounded."""
_MIN_MAIL_TOKENS = 200
_MAX_NAME = 60
_MAX_SUBJECT = 200
_MAX_UNDER = 160
"""Characters of a quote's end: enough to see what the words below it answer."""
_CHARS_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Part:
    """One call: its prompts and the mails that it contains."""

    system: str
    user: str
    mails: tuple[int, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class NumberedThread:
    parts: tuple[Part, ...]
    cut: tuple[int, ...] = ()
    """Mails whose middle was left out."""
    unread: tuple[int, ...] = ()
    """Mails that did not fit into the bounded number of parts."""


def estimate_tokens(text: str) -> int:
    """Return a cautious estimate for models whose tokenizer is not at hand."""
    return -(-len(text) // _CHARS_PER_TOKEN)


def number_thread(
    thread: LinkedThread, subject: str, *, room: int, count_tokens: CountTokens = estimate_tokens
) -> NumberedThread:
    """Split the thread into parts of at most `room` tokens each, instructions included."""
    space = room - count_tokens(INSTRUCTIONS) - count_tokens(subject) - 60
    entries = [_entry(thread, mail, subject) for mail in thread.mails]
    costs = [count_tokens(_json(entry)) + 2 for entry in entries]
    if space < _MIN_MAIL_TOKENS:
        return NumberedThread((), (), tuple(range(1, len(entries) + 1)))
    cut: set[int] = set()
    parts = []
    for numbers in _packed(thread, costs, space):
        included = [_shortened(entries[number], costs[number], space) for number in numbers]
        cut |= {entry["mail"] for entry in included if entry is not entries[entry["mail"] - 1]}
        parts.append(_part(INSTRUCTIONS, subject, included, count_tokens))
    chosen = tuple(parts[:MAX_PARTS])
    read = {number for part in chosen for number in part.mails}
    unread = tuple(number for number in range(1, len(entries) + 1) if number not in read)
    return NumberedThread(chosen, tuple(sorted(cut & read)), unread)


def merge_part(
    subject: str, found: Sequence[dict[str, Any]], *, room: int, count_tokens: CountTokens = estimate_tokens
) -> Part:
    """Build the call that merges the parts of a thread, with as many of their sentences as fit."""
    system = INSTRUCTIONS + MERGE_NOTE
    entries = list(found)
    while True:
        user = _user(subject, entries)
        tokens = count_tokens(system) + count_tokens(user)
        if tokens <= room or len(entries) <= 1:
            return Part(system, user, tuple(entry["mail"] for entry in entries), tokens)
        entries = (
            entries[: len(entries) // 2] + entries[len(entries) // 2 + 1 :]
        )  # the middle of a thread goes first


def mail_header(thread: LinkedThread, mail: LinkedMail) -> dict[str, Any]:
    """Return the facts about a mail that the model gets with its body."""
    role = thread.people.role(mail.number)
    name = display_name(mail.mail.name, mail.mail.address)[:_MAX_NAME]
    header: dict[str, Any] = {"mail": mail.number + 1, "by": f"p{person_number(thread, mail)} {name}"}
    if role is not None:
        header["role"] = role.role
    if mail.mail.date is not None:
        header["date"] = mail.mail.date.date().isoformat()
    if mail.parent is not None:
        header["answers"] = mail.parent + 1
    return header


def person_number(thread: LinkedThread, mail: LinkedMail) -> int:
    """Return the person's number, by the order of people's first mails."""
    first = dict.fromkeys(other.person for other in thread.mails)
    return list(first).index(mail.person) + 1


def _entry(thread: LinkedThread, mail: LinkedMail, subject: str) -> dict[str, Any]:
    entry = mail_header(thread, mail)
    own = split_subject(mail.mail.subject).title.strip()
    if own and own != split_subject(subject).title.strip():
        entry["subject"] = mail.mail.subject[:_MAX_SUBJECT]
    body: list[Any] = []
    for block, paragraphs in _by_block(mail):
        if block >= 0 and (words := _under(thread, mail, paragraphs[0][0])):
            body.append(words)
        body.append("\n".join(" ".join(sentence.text for sentence in paragraph) for paragraph in paragraphs))
    if note := diff_note(mail.mail.text):
        body.append({"diff": note})
    return entry | {"body": body}


def _by_block(mail: LinkedMail) -> Iterator[tuple[int, list[list[OwnSentence]]]]:
    """Yield the mail's sentences in paragraphs, by the quoted block above them."""
    block, found = -1, list[list[OwnSentence]]()
    for sentence in quotable(mail):
        if sentence.block != block and found:
            yield block, found
            found = []
        block = sentence.block
        if sentence.opens_paragraph or not found:
            found.append([])
        found[-1].append(sentence)
    if found:
        yield block, found


def _under(thread: LinkedThread, mail: LinkedMail, sentence: OwnSentence) -> dict[str, Any] | None:
    """Return the end of the quote above the sentence, and the mail that it comes from."""
    words = " ".join(mail.mail.quotes[sentence.block].text.split())
    if not words:
        return None
    end = words if len(words) <= _MAX_UNDER else "\u2026" + words[-_MAX_UNDER:].partition(" ")[2]
    source = thread.answered(sentence)
    return {"under": end} | ({} if source is None else {"of": source + 1})


def _shortened(entry: dict[str, Any], cost: int, space: int) -> dict[str, Any]:
    """Shorten a mail that does not fit alone to its start and end, and count the missing words."""
    if cost <= space:
        return entry
    texts = [text for text in entry["body"] if isinstance(text, str)]
    whole = "\n".join(texts)
    keep = max(1, int(len(whole) * space / cost * 0.8) // 2)
    missing = len(whole[keep:-keep].split())
    return entry | {"body": [whole[:keep], {"cut": f"{missing} words"}, whole[-keep:]]}


def _packed(thread: LinkedThread, costs: Sequence[int], space: int) -> Iterator[list[int]]:
    """Yield the mails of each part by subthread. Every part opens with the thread's first mail."""
    if sum(costs) <= space:
        yield list(range(len(costs)))
        return
    lead = min(costs[0], space // 3)
    part, used = [0], lead
    for number in _by_subthread(thread):
        cost = min(costs[number], space - lead)
        if used + cost > space and len(part) > 1:
            yield sorted(part)
            part, used = [0], lead
        part.append(number)
        used += cost
    yield sorted(part)


def _by_subthread(thread: LinkedThread) -> list[int]:
    """Return all mails except the first, each reply to the first followed by its own replies."""
    branch: dict[int, int] = {0: 0}
    for mail in thread.mails[1:]:
        seen, top = {mail.number}, mail
        while top.parent not in {None, 0} and top.parent not in seen:
            top = thread.mails[top.parent or 0]
            seen.add(top.number)
        branch[mail.number] = top.number
    return sorted(range(1, len(thread.mails)), key=lambda number: (branch[number], number))


def _part(system: str, subject: str, entries: list[dict[str, Any]], count_tokens: CountTokens) -> Part:
    user = _user(subject, entries)
    return Part(
        system, user, tuple(entry["mail"] for entry in entries), count_tokens(system) + count_tokens(user)
    )


def _user(subject: str, entries: list[dict[str, Any]]) -> str:
    return _json({"subject": subject[:_MAX_SUBJECT], "mails": entries})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
