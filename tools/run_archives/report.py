"""The output of `make run`: uploads archives, shows their progress, and prints outcomes."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tools.run_archives.client import DEFINITIONS, App, AppError, Taken, archives_at, definitions_at, open_app
from tools.run_archives.progress import follow

# Control characters, direction marks and lone surrogates, because mail must not control the terminal.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)


_SHOWN_OUTCOMES = 12
_CITATIONS = "\n## Citations\n"
_BORDERS, _NARROWEST = 10, 8  # of the table, and of its last column
_CLAIM = re.compile(r"(- \*\*.+?\*\*: (.+?))(?: \*\(.*\)\*)?")  # a claim without its status
_EMPTY_SECTION = re.compile(r"^## .*\n\s*(?=## |\Z)", re.MULTILINE)
_MARK = re.compile(r" *\[\[\d+\]\]\(#citation-\d+\)")


async def show_archives(base: str, archives: Path, console: Console) -> int:
    """Upload the archives and follow them to their reports. Return 0 if nothing is missing."""
    try:
        async with open_app(base) as app:
            return await _show(app, archives, console)
    except AppError as error:
        console.print(_text(f"error: {error}", style="red"))
    except (aiohttp.ClientError, TimeoutError) as error:
        line = f"error: the app at {base} does not answer: {type(error).__name__}: {error}"
        console.print(_text(line, style="red"))
    return 1


async def _show(app: App, archives: Path, console: Console) -> int:
    for source in definitions_at(archives):
        await app.define(source)
    taken, refused = await _take_in(app, archives)
    names = ", ".join(f"{archive.name}{' (already known)' if archive.duplicate else ''}" for archive in taken)
    console.print(_text(f"\nAdding {names}"))
    for note in dict.fromkeys(archive.note for archive in taken if archive.note):
        how = (
            f"Here, python is .venv/bin/python. Or define it in {DEFINITIONS} next to the archive and type"
            " make run ARGS=--fresh"
        )
        console.print(_text(f"{note}. {how}", style="yellow"))
    for error in refused:
        console.print(_text(f"not added: {error}", style="yellow"))
    outcome = await follow(app, taken, console)
    for gap in outcome.gaps:
        console.print(_text(f"  missing: {gap}", style="yellow"))
    await _print_a_report(app, taken, console)
    return 1 if outcome.gaps or refused else 0


async def _take_in(app: App, archives: Path) -> tuple[list[Taken], list[AppError]]:
    """Upload the files of a path. The app rejects files that are not archives, and the others continue."""
    taken: list[Taken] = []
    refused: list[AppError] = []
    for file in archives_at(archives):
        try:
            taken += await app.take_in(file)
        except AppError as error:
            refused.append(error)
    if not taken:
        raise refused[0] if refused else AppError(f"{archives}: the app has it already, and found no change")
    return taken, refused


async def _print_a_report(app: App, taken: Sequence[Taken], console: Console) -> None:
    sources = {(await app.get(f"/api/archives/{archive.archive_id}"))["source"] for archive in taken}
    pages = [await app.get("/api/reports", source=source, type="thread", limit="200") for source in sources]
    found = [report for page in pages for report in page["items"]]
    if not found:
        return
    _print_outcomes(found, app.base, console)
    report = await app.get(f"/api/reports/{max(found, key=_report_interest)['report_id']}")
    console.print()
    console.rule(_text(f"Report: {report['title']}"), align="left", style="dim")
    console.print(
        Padding(Markdown(_printable(_without_repetition(report["summary"]["content_markdown"]))), (0, 2))
    )
    console.rule(style="dim")
    console.print(_text(f"View the thread: {app.base}/threads/{report['thread_id']}"))


def _print_outcomes(reports: Sequence[dict[str, Any]], base: str, console: Console) -> None:
    """Print the threads with an outcome, newest first, and the number of other threads."""
    decided = [report for report in reports if (report.get("outcome") or {}).get("kind")]
    decided.sort(key=lambda report: report.get("last_message_date") or "", reverse=True)
    if decided:
        console.print()
        console.print(_table(decided[:_SHOWN_OUTCOMES], base, console.width))
    more = len(decided) - _SHOWN_OUTCOMES
    rest = len(reports) - len(decided)
    counted = ([f"{more} more"] if more > 0 else []) + ([f"{rest} without a decision found"] if rest else [])
    if counted:
        console.print(_text(f"  and {', '.join(counted)}: {base}/", style="dim"))


def _table(reports: Sequence[dict[str, Any]], base: str, width: int) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=True)
    links = [f"{base}/threads/{report['thread_id']}" for report in reports]
    link_width = max(map(len, links))
    outcome_width = max(len("Outcome"), *(len(report["outcome"]["kind"]) for report in reports))
    table.add_column("Thread", overflow="fold", min_width=link_width)
    table.add_column("Outcome", no_wrap=True)
    # Rich does not shrink a column next to one with a minimum width: it would truncate names.
    left = width - link_width - outcome_width - _BORDERS
    table.add_column("By", overflow="fold", max_width=max(left, _NARROWEST))
    for report, link in zip(reports, links, strict=True):
        thread = _text(report["title"])
        thread.append(f"\n{link}", style="dim")
        table.add_row(thread, _text(report["outcome"]["kind"]), _text(report["outcome"].get("by") or ""))
    return table


def _without_repetition(markdown: str) -> str:
    """Remove repeated sentences, and the title, which is already on the terminal. Notes at the end stay."""
    text, _, rest = markdown.partition(_CITATIONS)
    notes = "".join(f"\n{line}" for line in rest.splitlines() if line.startswith("*"))
    kept: list[str] = []
    for line in _MARK.sub("", text).splitlines():
        claim = _CLAIM.fullmatch(line)
        told = claim and any(claim[1] in earlier or f"“{claim[2]}”" in earlier for earlier in kept)
        if told or line.startswith("# "):
            continue
        kept.append(line)
    return _EMPTY_SECTION.sub("", "\n".join(kept) + "\n") + notes


def _text(text: str, style: str = "") -> Text:
    """Return printable text.

    Subjects and names are untrusted, and rich prints their escape codes unchanged.
    """
    return Text(_printable(text), style=style)


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)


def _report_interest(report: dict[str, Any]) -> tuple[bool, int, str]:
    """Return a sort key that prefers reports with an outcome and many participants."""
    return bool(report["has_consensus"]), len(report["participants"]), report["report_id"]
