"""A thread that was read in parts: their answers as one, and what the merging call is given."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from shared.domain.chat_reading.answer import ClaimedQuote, ModelAnswer
from shared.domain.chat_reading.located import locate
from shared.domain.chat_reading.numbered import mail_header
from shared.domain.consensus.linked_thread import LinkedThread


def found_sentences(thread: LinkedThread, parts: Sequence[ModelAnswer]) -> list[dict[str, Any]]:
    """Of each mail from which a part quotes something that is there: those sentences, in order."""
    by_mail: dict[int, dict[int, str]] = {}
    for quote in (quote for part in parts for quote in _quotes(part)):
        located = locate(thread, quote)
        if located is not None:
            for sentence in located.sentences:
                by_mail.setdefault(located.mail.number, {})[sentence.start] = sentence.text
    return [
        mail_header(thread, thread.mails[number])
        | {"text": " ".join(text for _, text in sorted(by_mail[number].items()))}
        for number in sorted(by_mail)
    ]


def _quotes(part: ModelAnswer) -> Iterator[ClaimedQuote]:
    if part.proposition is not None:
        yield part.proposition
    yield from (one.words for one in part.positions)
    yield from (one.words for one in part.objections)
    yield from (*part.decisions, *part.open_issues, *part.key_points)
    if part.outcome_sentence is not None:
        yield from part.outcome_sentence.evidence


def merge_answers(parts: Sequence[ModelAnswer], whole: ModelAnswer) -> ModelAnswer:
    """The answers to the parts of a thread as one: their lists, and what came of it from the merging call."""
    first = parts[0]
    return replace(
        whole,
        genre=whole.genre or first.genre,
        proposition=whole.proposition or first.proposition,
        positions=tuple(
            sorted((one for part in parts for one in part.positions), key=lambda one: one.words.mail)
        ),
        objections=tuple(one for part in parts for one in part.objections),
        decisions=_each_once(part.decisions for part in parts),
        open_issues=whole.open_issues or _each_once(part.open_issues for part in parts),
        key_points=whole.key_points or _each_once(part.key_points for part in parts),
    )


def _each_once(parts: Iterable[tuple[ClaimedQuote, ...]]) -> tuple[ClaimedQuote, ...]:
    return tuple(dict.fromkeys(quote for part in parts for quote in part))
