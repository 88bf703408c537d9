"""`report`: the current reports, or one of them as Markdown."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import run_command
from ops.options import Json, Limit
from ops.output import clean, print_json, print_note, table, two_lines

if TYPE_CHECKING:
    from shared.clients.connections import Clients


def report(
    id_: Annotated[
        str | None, typer.Argument(metavar="ID", help="A report's id.", show_default=False)
    ] = None,
    source: Annotated[str | None, typer.Option(metavar="NAME", help="Reports on one list only.")] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List the current reports, the newest first; or print one as Markdown, with its citations."""
    if id_ is None:
        return _list(source, limit, json=json)
    from shared.retrieval.threads import report_detail

    detail = run_command(lambda clients: report_detail(clients, id_))
    if json:
        return print_json(detail.model_dump(mode="json", by_alias=True))
    typer.echo(clean(detail.summary.content_markdown if detail.summary else detail.title))
    if detail.outdated:
        print_note("This report is outdated: a newer one exists, or its mail was removed.")
    return None


def _list(source: str | None, limit: int, *, json: bool) -> None:
    async def work(clients: "Clients") -> list[dict[str, object]]:
        from shared.clients.cosmos.session import Session
        from shared.documents.queries.reports import LATEST_REPORT_TITLES

        rows = clients.store.query(LATEST_REPORT_TITLES, Session(), limit=limit, source=source)
        return [row async for row in rows]

    found = run_command(work)
    if json:
        return print_json(found)
    table(
        ["published", "list", "kind", "outcome", "title and id*"],
        [
            (
                str(report.get("published_at", ""))[:10],
                report.get("source") or "-",
                report.get("summary_type") or "-",
                _outcome(report.get("outcome")),
                two_lines(report.get("title"), report["id"]),
            )
            for report in found
        ],
        empty="No reports yet.",
    )
    return None


def _outcome(outcome: Any) -> str:
    """The kind, where it is said; a report on several threads has none."""
    if not isinstance(outcome, dict):
        return "-"
    return str(outcome["kind"]) if outcome["tier"] == "said" else "no decision found"
