"""What readers see, from the command line."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import perform
from ops.exit_codes import Code, Stop
from ops.options import Json, Limit
from ops.output import clean, print_json, say, table, two_lines

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.retrieval.read_models import ReportDetail
    from shared.retrieval.search import Found, SearchAsked

__all__ = ["report", "search"]


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words, or a question.")],
    source: Annotated[str | None, typer.Option(metavar="NAME", help="One list only.")] = None,
    words: Annotated[bool, typer.Option("--words", help="By words alone, without the model.")] = False,
    limit: Annotated[int, typer.Option(metavar="COUNT", min=1, max=50, help="At most so many.")] = 10,
    json: Json = False,
) -> None:
    """Search all mail, by words and by meaning."""
    from shared.retrieval.search import found_items

    wanted = _asked(q=query, mode="words" if words else "hybrid", source=source, limit=limit)

    async def work(clients: "Clients") -> "Found":
        from shared.embedding.instance import close_embedder
        from shared.retrieval.search import find

        try:
            return await find(clients, wanted)
        finally:
            await close_embedder()

    found = perform(work)
    items = found_items(found.hits)
    if json:
        shown = [each.model_dump(mode="json", by_alias=True) for each in items]
        return print_json({"query": query, "mode": found.mode, "total": found.total, "items": shown})
    if found.note:
        say(found.note)
    table(
        ["date", "from", "thread", "subject and text*"],
        [
            (
                f"{each.date:%Y-%m-%d}" if each.date else "",
                (each.sender.name or each.sender.email)[:24],
                each.thread_id,
                f"{each.subject[:80]}: {each.text[:200]}",
            )
            for each in items
        ],
        empty="Nothing was found.",
    )
    return None


def _asked(**given: object) -> "SearchAsked":
    from pydantic import ValidationError

    from shared.retrieval.search import SearchAsked

    try:
        return SearchAsked.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = {"q": "QUERY"}.get(str(first["loc"][0]), f"--{first['loc'][0]}")
        raise Stop(Code.USAGE, f"{name}: {first['msg']}") from None


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
    detail = perform(lambda clients: _detail(clients, id_))
    if json:
        return print_json(detail.model_dump(mode="json", by_alias=True))
    typer.echo(clean(detail.summary.content_markdown if detail.summary else detail.title))
    if detail.outdated:
        say("This report is outdated: there is a newer one, or its mail is gone.")
    return None


def _list(source: str | None, limit: int, *, json: bool) -> None:
    async def work(clients: "Clients") -> list[dict[str, object]]:
        from shared.clients.cosmos.session import Session
        from shared.documents.queries.named_query import NamedQuery

        text = (
            "SELECT TOP @limit c.id, c.title, c.source, c.summary_type, c.consensus_type, c.published_at"
            " FROM c WHERE (IS_NULL(@source) OR c.source = @source)"
            " AND (NOT IS_DEFINED(c.outdated) OR c.outdated = false)"
            " ORDER BY c.published_at DESC"
        )
        query = NamedQuery("reports_lately", "reports", text)
        return [each async for each in clients.store.query(query, Session(), limit=limit, source=source)]

    found = perform(work)
    if json:
        return print_json(found)
    table(
        ["published", "list", "kind", "consensus", "title and id*"],
        [
            (
                str(each.get("published_at", ""))[:10],
                each.get("source") or "-",
                each.get("summary_type") or "-",
                each.get("consensus_type") or "-",
                two_lines(each.get("title"), each["id"]),
            )
            for each in found
        ],
        empty="There are no reports yet.",
    )
    return None


async def _detail(clients: "Clients", id_: str) -> "ReportDetail":
    from shared.retrieval.reports import report_detail
    from web.problems import Problem

    try:
        return await report_detail(clients, id_)
    except Problem as problem:
        raise Stop(Code.FAILED, problem.detail) from None
