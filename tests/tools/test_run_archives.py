"""The report of `make run`. Its title is written by a stranger."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from rich.console import Console

from tools.run_archives import client as app_module
from tools.run_archives.client import AppError, Taken, open_app
from tools.run_archives.report import (
    _print_a_report,
    _print_outcomes,
    _without_repetition,
    show_archives,
)

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


@pytest.mark.parametrize("width", [80, 100])
def test_a_table_has_thread_outcome_by_whom_and_link_and_counts_the_rest(width: int) -> None:
    name = "\x1b[2JBo van der Longername (chair)"
    said = {"kind": "accepted", "tier": "said", "sentence": "Accepted by Bo.", "by": name}
    guessed = {"kind": None, "tier": "remark", "sentence": "No decision found."}
    old = {"title": "Rename it", "thread_id": "2" * 16, "last_message_date": "2026-01-01", "outcome": said}
    new = {"title": "Adopt it", "thread_id": "1" * 16, "last_message_date": "2026-02-01", "outcome": said}
    printed = io.StringIO()
    console = Console(file=printed, width=width)
    _print_outcomes([old, new, {"outcome": guessed}, {}], "http://localhost:7071", console)
    shown = printed.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert shown.index("Adopt it") < shown.index("Rename it")
    assert shown.count("accepted") == shown.count("Bo van") == shown.count("(chair)") == 2
    assert f"http://localhost:7071/threads/{'1' * 16}" in shown
    assert "2 without a decision found" in shown
    assert "\x1b" not in shown


def test_a_report_quotes_a_sentence_once() -> None:
    markdown = (
        "# T\n\n- **Bo**: We take it. [[1]](#citation-1) [[2]](#citation-2)\n\n## Citations\n\n"
        '1. <a id="citation-1"></a>\u201cWe take it.\u201d (<1@a>)\n\n*Not all was read.*\n'
    )
    shown = _without_repetition(markdown)
    assert shown.count("We take it.") == 1
    assert "citation" not in shown
    assert shown.endswith("\n*Not all was read.*")


async def test_a_busy_app_is_asked_again_and_one_that_stays_away_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app_module, "POLL_SECONDS", 0.01)
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        busy = len(asked) < 3 or request.path == "/away"
        return web.json_response({"detail": "Busy."}, status=503 if busy else 200)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server, open_app(str(server.make_url("")).rstrip("/")) as opened:
        await opened.get("/here")
        assert len(asked) == 3
        monkeypatch.setattr(app_module, "BUSY_SECONDS", 0.05)
        with pytest.raises(AppError, match="503 Busy"):
            await opened.get("/away")


def test_a_report_in_the_terminal_repeats_neither_title_nor_sentence() -> None:
    markdown = (
        "# T\n\n- **Ed**: Yes.\n- **Flo**: Yes.\n\nTally by Bo (chair): “All are for it.”\n\n## Possible objections\n\n"
        "- **Cy**: I object. [[1]](#citation-1) *(withdrawn: “I withdraw it.”)*\n\n## Key points\n\n"
        "- **Cy**: I withdraw it. [[2]](#citation-2)\n- **Bo**: All are for it. [[3]](#citation-3)\n\n"
        "## Citations\n\n1. “I object.” (<1@a>)\n"
    )
    shown = _without_repetition(markdown)
    assert shown.count("I withdraw it.") == shown.count("All are for it.") == shown.count("I object.") == 1
    assert shown.count("Yes.") == 2  # of two people
    assert "# T" not in shown
    assert "Key points" not in shown
    assert "Possible objections" in shown


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        ((), {"FUNCTIONS_URL": "http://127.0.0.1:1"}, "usage: localcloud up -- python"),
        (("x.mbox",), {}, "FUNCTIONS_URL is not set"),
        (
            (__file__,),
            {"FUNCTIONS_URL": "http://127.0.0.1:1"},
            "the app at http://127.0.0.1:1 does not answer",
        ),
    ],
)
def test_the_command_says_in_a_line_what_it_misses(
    arguments: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    command = [sys.executable, "-m", "tools.run_archives", *arguments]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert said in " ".join((ended.stdout + ended.stderr).split())
    assert "Traceback" not in ended.stderr


async def test_a_large_archive_that_the_app_has_already_is_said_to_be_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(request: web.Request) -> web.Response:
        done = {"id": "o1", "status": "succeeded", "error": "", "archives": list[str]()}
        return web.json_response({} if request.path == "/api/sources" else done)

    monkeypatch.setattr(app_module, "LARGEST_UPLOAD", 0)
    archive, printed, app = tmp_path / "large.mbox", io.StringIO(), web.Application()
    archive.write_text("From a\n")
    app.router.add_post("/{path:.*}", answer)
    async with TestServer(app) as server:
        base = str(server.make_url("")).rstrip("/")
        assert await show_archives(base, archive, Console(file=printed, width=300)) == 1
    assert "the app has it already, and found no change" in printed.getvalue()
