"""Rendering of pages with one Jinja environment that escapes all values.

Scripts and styles come only from /static. The content security policy blocks inline ones, so that markup in
mail could not run.
"""

import functools
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import azure.functions as func
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from shared.azure.access import current_caller
from shared.mail.mentions import draft_base
from shared.models.values import rejoined
from shared.settings.app import SettingsError, settings
from shared.views.parameters import page_of_mail
from web import formatting as fm
from web.access import MAY, is_operator, sign_in_address, visitor
from web.caching import answer_of
from web.position_changes import SAYS
from web.problems import TITLES, Problem
from web.routes import Handler, route, unguarded

HERE = Path(__file__).parent
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
UNAUTHORIZED = 401
CONTENT_POLICY = "Content-Security-Policy"


def content_policy(connect: str = "") -> str:
    """Return the policy: only this site, and one more origin for requests if given."""
    senders = f"'self' {connect}".strip()
    return (
        f"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src {senders};"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


SECURITY_HEADERS = {
    CONTENT_POLICY: content_policy(),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ONE_YEAR = "public, max-age=31536000, immutable"


class Assets:
    """The files under /static, read once. Names contain a hash of the content, so clients may keep them."""

    def __init__(self, folder: Path) -> None:
        self._served: dict[str, tuple[bytes, str]] = {}
        self._names: dict[str, str] = {}
        for path in sorted(folder.iterdir()):
            content = path.read_bytes()
            name = f"{path.stem}.{hashlib.sha256(content).hexdigest()[:12]}{path.suffix}"
            self._served[name] = (content, TYPES[path.suffix])
            self._names[path.name] = f"/static/{name}"

    def address(self, name: str) -> str:
        return self._names[name]

    def find(self, served: str) -> tuple[bytes, str] | None:
        return self._served.get(served)


ASSETS = Assets(HERE / "static")


FILTERS: dict[str, Callable[..., Any]] = {
    **{
        function.__name__: function
        for function in (
            fm.plain, fm.unquoted, fm.sentence, fm.writer, fm.filename, fm.day, fm.minute, fm.moment,
            fm.machine_time, fm.counted, fm.stage_figures, fm.progress_state,
        )
    },
    "seen": fm.printable_lines,
    "message_id": lambda id_: escape(id_).replace("@", Markup("&#64;")),  # not masked like an address
    "rejoined": rejoined,
    "lang": fm.foreign_language,
    "subject": fm.bare_subject,
    "drafts": lambda names: list(dict.fromkeys(draft_base(name) for name in names)),
    "status": lambda status: fm.STATUSES.get(str(status), str(status)),
}  # fmt: skip


@functools.lru_cache(maxsize=1)
def environment() -> Environment:
    jinja = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters.update(FILTERS)
    jinja.globals["mail_address"] = page_of_mail
    known = (
        fm.stance_shares, fm.outcome_chip, fm.outcome_words, fm.outcome_lead, fm.outcome_basis, fm.spoken_in,
    )  # fmt: skip
    jinja.globals.update({function.__name__: function for function in known})
    looks = {look: words for words, look in SAYS.values() if look}
    jinja.globals.update(asset=ASSETS.address, stance_words=looks)
    return jinja


def render(template: str, /, **values: Any) -> str:
    return environment().get_template(template).render(**values)


def show(
    req: func.HttpRequest,
    template: str,
    /,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> func.HttpResponse:
    """Return the rendered page, or 304 if the client has it. `path` marks the current navigation entry."""
    path = "/" + req.url.partition("://")[2].partition("/")[2].partition("?")[0]
    body = render(template, path=path, query=values.pop("query", ""), visits=_visits(req), **values)
    all_headers = {**SECURITY_HEADERS, **(headers or {})}
    return answer_of(req, body.encode(), "text/html", status=status, headers=all_headers)


def _visits(req: func.HttpRequest) -> dict[str, str]:
    try:
        known = settings()
    except SettingsError:
        return {}
    pages = {"/operator/upload": "Upload"} if is_operator(req, known) else {}
    if known.AUTH_MODE == "entra" and current_caller().roles:
        pages["/account"] = "Account"
    return {**pages, "/operator": "Operator"} if visitor(req, known, MAY["inspect"]) else pages


def page(name: str, path: str, *methods: str, **routed: Any) -> Callable[[Handler], Any]:
    """Register a function of the site. Errors of its handler become an error page."""
    return route(name, path, *methods, answered=_error_page, **routed)


def _error_page(req: func.HttpRequest, problem: Problem) -> func.HttpResponse:
    """Show the problem. A visitor who is not signed in is redirected to the sign-in page."""
    if problem.status == UNAUTHORIZED and req.method == "GET":
        path = "/" + req.url.partition("://")[2].partition("/")[2]
        address = sign_in_address(req, settings(), path)
        if address is not None:
            kept = {"Location": address, "Cache-Control": "no-store"}
            return func.HttpResponse(None, status_code=302, headers=kept)
    return problem_page(req, problem)


def problem_page(req: func.HttpRequest, problem: Problem) -> func.HttpResponse:
    return show(
        req,
        "problem.html",
        status=problem.status,
        headers={**problem.headers, "Cache-Control": "no-store"},
        title=TITLES.get(problem.status, "Error"),
        problem=problem,
    )


@unguarded("static", "static/{name}")
def static(req: func.HttpRequest) -> func.HttpResponse:
    found = ASSETS.find(req.route_params["name"])
    if found is None:
        return problem_page(
            req, Problem(404, "The file does not exist. The page that links to it may be outdated.")
        )
    content, content_type = found
    headers = {**SECURITY_HEADERS, "Cache-Control": ONE_YEAR}
    return func.HttpResponse(content, status_code=200, mimetype=content_type, headers=headers)
