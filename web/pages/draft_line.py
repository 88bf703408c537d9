"""A draft on one line of time: the calls about it, from adoption to last call, and what came of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.documents.reports import Report
from shared.documents.values import Genre, OutcomeKind, Tier

WIDTH, EDGE = 100.0, 3.0
_STEPS = (
    ("Call for adoption", re.compile(r"\badopt(?:ion|ing|ed)?\b", re.IGNORECASE)),
    ("Last call", re.compile(r"\blast[ -]call\b|\bWGLC\b", re.IGNORECASE)),
)
_SETTLED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED, OutcomeKind.REJECTED, OutcomeKind.CONTESTED})


@dataclass(frozen=True)
class DraftStep:
    report: Report
    name: str
    first: datetime
    last: datetime
    x: float
    end: float


def draft_line(reports: Sequence[Report]) -> list[DraftStep]:
    """Calls, and what is said to be settled, in the order in which they began."""
    chosen = [
        (report.first_message_date, report.last_message_date, report)
        for report in reports
        if report.thread_id and report.first_message_date and report.last_message_date and _is_step(report)
    ]
    if not chosen:
        return []
    start, end = min(first for first, _, _ in chosen), max(last for _, last, _ in chosen)
    span = max((end - start).total_seconds(), 1.0)

    def place(moment: datetime) -> float:
        return round(EDGE + (WIDTH - 2 * EDGE) * (moment - start).total_seconds() / span, 2)

    ordered = sorted(chosen, key=lambda chosen_call: (chosen_call[0], chosen_call[2].id))
    return [
        DraftStep(report, _name(report), first, last, place(first), place(last))
        for first, last, report in ordered
    ]


def _is_step(report: Report) -> bool:
    outcome = report.outcome
    settled = outcome is not None and outcome.tier is Tier.SAID and outcome.kind in _SETTLED
    return report.genre is Genre.CALL or report.open_call is not None or settled


def _name(report: Report) -> str:
    for name, pattern in _STEPS:
        if pattern.search(report.title):
            return name
    return "Call" if report.genre is Genre.CALL or report.open_call else "Decision"
