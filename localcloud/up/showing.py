"""What `make run` does once all is up: takes archives in, shows them going through, and prints a report."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from localcloud.up.app import App, AppError, Taken, archives_at, definitions_at, open_app
from localcloud.up.progress import follow

# Control characters, direction marks and lone surrogates: mail must not steer the terminal.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)


_SHOWN_OUTCOMES = 12


async def show_archives(base: str, archives: Path, console: Console) -> int:
    """Take the archives in and follow them to their reports; 0 where nothing is missing."""
    try:
        async with open_app(base) as app:
            return await _show(app, archives, console)
    except AppError as error:
        console.print(_text(f"error: {error}", style="red"))
        return 1


async def _show(app: App, archives: Path, console: Console) -> int:
    for source in definitions_at(archives):
        await app.define(source)
    taken = [archive for file in archives_at(archives) for archive in await app.take_in(file)]
    names = ", ".join(f"{archive.name}{' (already known)' if archive.duplicate else ''}" for archive in taken)
    console.print(_text(f"\nAdding {names}"))
    outcome = await follow(app, taken, console)
    for gap in outcome.gaps:
        console.print(_text(f"  missing: {gap}", style="yellow"))
    await _print_a_report(app, taken, console)
    return 1 if outcome.gaps else 0


async def _print_a_report(app: App, taken: Sequence[Taken], console: Console) -> None:
    sources = {(await app.get(f"/api/archives/{archive.archive_id}"))["source"] for archive in taken}
    pages = [await app.get("/api/reports", source=source, type="thread", limit="200") for source in sources]
    found = [report for page in pages for report in page["items"]]
    if not found:
        return
    _print_outcomes(found, console)
    report = await app.get(f"/api/reports/{max(found, key=_report_interest)['report_id']}")
    console.print()
    console.rule(_text(f"Report: {report['title']}"), align="left", style="dim")
    console.print(Padding(Markdown(_printable(report["summary"]["content_markdown"])), (0, 2)))
    console.rule(style="dim")
    console.print(_text(f"View the thread: {app.base}/threads/{report['thread_id']}"))


def _print_outcomes(reports: Sequence[dict[str, Any]], console: Console) -> None:
    """One line for each stated outcome, and a count of the others."""
    said = [report for report in reports if (report.get("outcome") or {}).get("tier") == "said"]
    if said:
        console.print(_text("\nOutcomes:"))
    for report in said[:_SHOWN_OUTCOMES]:
        outcome = report["outcome"]
        quote = f": \u201c{outcome['quote']}\u201d" if outcome.get("quote") else ""
        line = f"  {outcome['kind']:<13} {report['title']}: {outcome['sentence'].removesuffix('.')}{quote}"
        console.print(_text(line), overflow="ellipsis", no_wrap=True)
    more = len(said) - _SHOWN_OUTCOMES
    rest = len(reports) - len(said)
    counted = ([f"{more} more"] if more > 0 else []) + ([f"{rest} without a decision found"] if rest else [])
    if counted:
        console.print(_text(f"  and {', '.join(counted)}", style="dim"))


def _text(text: str, style: str = "") -> Text:
    """Subjects and names are strangers': rich prints the escape codes in them as they are."""
    return Text(_printable(text), style=style)


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)


def _report_interest(report: dict[str, Any]) -> tuple[bool, int, str]:
    """How much a report shows at a glance: an outcome, and many voices."""
    return bool(report["has_consensus"]), len(report["participants"]), report["report_id"]
