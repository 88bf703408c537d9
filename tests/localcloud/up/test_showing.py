"""The report that `make run` prints: its title is a stranger's."""

import io

from aiohttp import web
from aiohttp.test_utils import TestServer
from rich.console import Console

from localcloud.up.app import Taken, open_app
from localcloud.up.showing import _print_a_report, _print_outcomes

TITLE = "\x1b]0;owned\x07\x1b[2J\x9b31mAll agree"
REPORT = {"report_id": "rpt-1", "title": TITLE, "has_consensus": True, "participants": [], "thread_id": "t"}


async def _answer(request: web.Request) -> web.Response:
    if request.path.startswith("/api/archives/"):
        return web.json_response({"source": "tally"})
    if request.path == "/api/reports":
        return web.json_response({"items": [REPORT]})
    return web.json_response({**REPORT, "summary": {"content_markdown": f"# {TITLE}\n\ntext \x1b[2J\n"}})


async def test_a_subject_does_not_steer_the_terminal() -> None:
    app = web.Application()
    app.router.add_get("/{path:.*}", _answer)
    printed = io.StringIO()
    console = Console(file=printed, width=100, force_terminal=False)
    async with TestServer(app) as server, open_app(str(server.make_url("")).rstrip("/")) as opened:
        await _print_a_report(opened, [Taken("0" * 16, "tally.mbox", duplicate=False)], console)
    assert "All agree" in printed.getvalue()
    assert not set("\x1b\x07\x9b") & set(printed.getvalue())


async def test_what_came_of_the_threads_is_said_and_the_rest_counted() -> None:
    said = {"kind": "accepted", "tier": "said", "sentence": "Accepted by \x1b[2JBo.", "quote": "We take it."}
    guessed = {"kind": "rejected", "tier": "remark", "sentence": "No decision found."}
    printed = io.StringIO()
    _print_outcomes(
        [{"title": "Adopt it", "outcome": said}, {"outcome": guessed}, {}], Console(file=printed, width=100)
    )
    shown = printed.getvalue()
    assert "accepted      Adopt it: Accepted by" in shown
    assert "Bo: \u201cWe take it.\u201d" in shown
    assert "rejected" not in shown
    assert "2 without a decision found" in shown
    assert "\x1b" not in shown
