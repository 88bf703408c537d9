"""Pages of drafts and RFCs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import azure.functions as func

from shared.models.reports import Report
from shared.models.values import Genre, OutcomeKind, SummaryType, Tier
from shared.views.topics import count_draft_mentions, of_draft
from web.connected import clients
from web.parameters import draft_named
from web.rendering import page, show


@page("page_drafts", "drafts")
async def drafts_page(req: func.HttpRequest) -> func.HttpResponse:
    counts = (await count_draft_mentions(await clients())).most_common()
    return show(
        req,
        "pages/drafts.html",
        drafts=[draft for draft in counts if draft[0].startswith("draft-")],
        published=[draft for draft in counts if not draft[0].startswith("draft-")],
    )


@page("page_draft", "drafts/{name}")
async def draft_page(req: func.HttpRequest) -> func.HttpResponse:
    name = draft_named(req)
    connected = await clients()
    reports, threads = await of_draft(connected, name)
    reported = {report.thread_id for report in reports}
    return show(
        req,
        "pages/draft.html",
        name=name,
        sends_mail=connected.settings.sends_mail,
        steps=draft_line(reports),
        focused=[report for report in reports if report.summary_type is SummaryType.DRAFT_FOCUSED],
        reports=[report for report in reports if report.summary_type is not SummaryType.DRAFT_FOCUSED],
        others=[thread for thread in threads if thread.id not in reported],
    )


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
    """Return the calls and decisions about a draft, in the order of their beginnings."""
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
