"""The search page, with filters by list, sender, draft and year."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import azure.functions as func

from shared.mail.masking import masked
from shared.views.read_models import FoundItem
from shared.views.search import SearchAsked, SearchResult, find
from web.access import people_shown
from web.connected import clients, current_caller
from web.limits import Limited
from web.parameters import parse_query
from web.problems import Problem
from web.rendering import page, show

FACETS = {"source": "List", "sender": "Sender", "draft": "Draft or RFC", "year": "Year"}
FIELDS = {"source": "source", "sender": "sender", "draft_mentions": "draft"}
EXAMPLES = (
    "from:leo", "to:leo", "list:git", "subject:receipt", "rfc:5321", "since:2024-03", "outcome:accepted",
    "is:open", "has:patch", '"exact phrase"', "receipt -json", "receipt OR ticket",
)  # fmt: skip
_AROUND = 160


@dataclass(frozen=True)
class Choice:
    """A filter that can be set or removed."""

    label: str
    count: int
    address: str
    chosen: bool


@page("page_search", "search", limited=Limited.SEARCH)
async def search_page(req: func.HttpRequest) -> func.HttpResponse:
    text = req.params.get("q", "")
    if not text.strip():
        return show(req, "pages/search.html", wanted=None, error="", examples=EXAMPLES)
    known = {field.alias or name for name, field in SearchAsked.model_fields.items()}
    given = {name: value for name, value in req.params.items() if name in known and value}
    try:
        wanted = parse_query(func.HttpRequest("GET", req.url, params=given, body=b""), SearchAsked)
    except Problem as problem:
        more = {"query": text, "wanted": None, "error": query_fault(problem), "examples": EXAMPLES}
        return show(req, "pages/search.html", status=problem.status, **more)
    connected = await clients()
    found = await find(connected, wanted)
    parameters = wanted.parameters()
    return show(
        req,
        "pages/search.html",
        query=wanted.q,
        wanted=wanted,
        found=found,
        error="",
        examples=EXAMPLES,
        exact=found.exact(people=people_shown(req, connected.settings)),
        around=_around,
        facets=_facets(found, parameters),
        sorts=[_sort(name, label, parameters) for name, label in SORTS.items()],
        hidden={name: value for name, value in parameters.items() if name not in {"q", "skip"}},
        before=_page(parameters, wanted.skip - wanted.limit) if wanted.skip else None,
        after=_page(parameters, found.following) if found.following else None,
    )


def query_fault(problem: Problem) -> str:
    """Return the fault of the query, to be shown next to it. Raise any other problem again."""
    faults = problem.more.get("errors", [])
    if {fault.get("parameter") for fault in faults} != {"q"}:
        raise problem
    return str(faults[0]["detail"])


SORTS = {"relevance": "Relevance", "date": "Date"}


def _sort(name: str, label: str, parameters: Mapping[str, Any]) -> Choice:
    kept = {key: value for key, value in parameters.items() if key not in {"skip", "sort"}}
    changed = kept if name == "relevance" else {**kept, "sort": name}
    chosen = parameters.get("sort", "relevance") == name
    return Choice(label, 0, f"/search?{urlencode(changed)}", chosen)


def _around(item: FoundItem) -> tuple[str, str, str]:
    before, sentence, after = item.text.partition(item.sentence)
    start = f"\u2026{before[-_AROUND:]}" if len(before) > _AROUND else before
    end = f"{after[:_AROUND]}\u2026" if len(after) > _AROUND else after
    return start, sentence, end


def _page(parameters: Mapping[str, Any], skip: int) -> str:
    kept = {name: value for name, value in parameters.items() if name != "skip"}
    return f"/search?{urlencode({**kept, 'skip': skip} if skip > 0 else kept)}"


def _facets(found: SearchResult, parameters: Mapping[str, Any]) -> dict[str, list[Choice]]:
    facets: dict[str, list[Choice]] = {title: [] for title in FACETS.values()}
    for name, values in found.facets.items():
        for facet in values:
            if name == "date":
                choice = _year(facet.value[:4], facet.count, parameters)
                facets[FACETS["year"]].append(choice)
                continue
            field = FIELDS[name]
            label = facet.label or masked(facet.value) if field == "sender" else facet.value
            changed = {field: facet.value}
            if field == "sender" and not current_caller().sees_addresses:
                if not facet.label:
                    continue  # there is no name for a link
                words = facet.label.replace('"', "")
                changed = {"q": f'{parameters["q"]} from:"{words}"'}
            facets[FACETS[field]].append(_choice(label, facet.count, changed, parameters))
    facets[FACETS["year"]].reverse()
    return {title: choices for title, choices in facets.items() if choices}


def _year(year: str, count: int, parameters: Mapping[str, Any]) -> Choice:
    return _choice(year, count, {"from": f"{year}-01-01", "to": f"{year}-12-31"}, parameters)


def _choice(label: str, count: int, changed: Mapping[str, str], parameters: Mapping[str, Any]) -> Choice:
    """Return a link to the first page that sets or removes this filter."""
    chosen = all(str(parameters.get(name, "")).lower() == value.lower() for name, value in changed.items())
    kept = {name: value for name, value in parameters.items() if name not in {"skip", *changed}}
    address = f"/search?{urlencode(kept if chosen else {**kept, **changed})}"
    return Choice(label, count, address, chosen)
