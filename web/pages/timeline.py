"""A list's months as a drawing made here, and as a table with the same figures."""

import re
from dataclasses import dataclass

import azure.functions as func

from shared.clients.connections import clients
from shared.documents.sources import NAME_PATTERN
from shared.retrieval.lists import BANDS, MonthOfList, timeline_of_list
from web.problems import Problem
from web.rendering import html_errors, show

blueprint = func.Blueprint()
HEIGHT, BAR, GAP = 120.0, 22.0, 6.0
LEAST = 1.5  # a single thread in a tall drawing can still be seen


@dataclass(frozen=True)
class DrawnPart:
    band: str
    y: float
    height: float


@dataclass(frozen=True)
class DrawnMonth:
    month: MonthOfList
    x: float
    label: str
    parts: list[DrawnPart]


@blueprint.function_name("page_timeline")
@blueprint.route(
    route="sources/{name}/timeline", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS
)
@html_errors
async def timeline_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, name = await clients(), req.route_params["name"]
    if not re.fullmatch(NAME_PATTERN, name):
        raise Problem(404, "There is no list with this name.")
    months = await timeline_of_list(connected, name)
    if not months:
        raise Problem(404, "There is no list with this name, or none of its mail is processed yet.")
    drawn = drawn_months(months)
    return show(
        req,
        "pages/timeline.html",
        name=name,
        months=drawn,
        bands=list(BANDS),
        width=round(len(drawn) * (BAR + GAP) + GAP, 2),
        height=HEIGHT,
        bar=BAR,
    )


def drawn_months(months: list[MonthOfList]) -> list[DrawnMonth]:
    most = max(month.threads for month in months) or 1
    return [
        DrawnMonth(
            month, round(GAP + place * (BAR + GAP), 2), _label(month, first=place == 0), _parts(month, most)
        )
        for place, month in enumerate(months)
    ]


def _label(month: MonthOfList, *, first: bool) -> str:
    """The year, where it begins."""
    return month.month[:4] if first or month.month.endswith("-01") else ""


def _parts(month: MonthOfList, most: int) -> list[DrawnPart]:
    parts, y = [], HEIGHT
    for band in BANDS:
        if month.bands[band]:
            height = max(HEIGHT * month.bands[band] / most, LEAST)
            y -= height
            parts.append(DrawnPart(band, round(max(y, 0.0), 2), round(height, 2)))
    return parts
