"""`report`, `search`, `ask` and the subscriptions to digests."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import Code, CommandError, Json, Limit, run_command
from ops.output import answer, clean, print_json, print_note, print_rows, table, two_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.azure.connections import Clients
    from shared.views.read_models import Quote
    from shared.views.search import SearchAsked


app = typer.Typer(help="Subscriptions to email digests.", no_args_is_help=True)


def report(
    id_: Annotated[str | None, typer.Argument(metavar="ID", help="A report's id.")] = None,
    source: Annotated[str | None, typer.Option(metavar="NAME", help="Reports on one list only.")] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List current reports, or print one as Markdown."""
    if id_ is None:
        return _list(source, limit, json=json)
    from shared.views.threads import report_detail

    detail = run_command(lambda clients: report_detail(clients, id_))
    if json:
        return print_json(detail.model_dump(mode="json", by_alias=True))
    typer.echo(clean(detail.summary.content_markdown))
    if detail.outdated:
        print_note("This report is outdated: a newer one exists, or its mail was removed.")
    return None


def _list(source: str | None, limit: int, *, json: bool) -> None:
    async def work(clients: "Clients") -> list[dict[str, object]]:
        from shared.azure.cosmos.session import Session
        from shared.models.queries.reports import LATEST_REPORT_TITLES

        rows = clients.store.query(LATEST_REPORT_TITLES, Session(), limit=limit, source=source)
        return [row async for row in rows]

    print_rows(
        run_command(work),
        ["published", "list", "kind", "outcome", "title and id*"],
        lambda report: (
            str(report.get("published_at", ""))[:10], report.get("source") or "-",
            report.get("summary_type") or "-", _outcome(report.get("outcome")),
            two_lines(report.get("title"), report["id"]),
        ),
        empty="No reports yet.",
        shown=dict if json else None,
    )  # fmt: skip


def _outcome(outcome: Any) -> str:
    """Return the stated kind of the outcome. A report on several threads has no outcome."""
    if not isinstance(outcome, dict):
        return "-"
    return str(outcome["kind"]) if outcome["tier"] == "said" else "no decision found"


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Keywords or a question.")],
    source: Annotated[str | None, typer.Option(metavar="NAME", help="One list only.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Keyword search only.")] = False,
    limit: Annotated[int, typer.Option(metavar="COUNT", min=1, max=50, help="Maximum number.")] = 10,
    json: Json = False,
) -> None:
    """Search all mail (keyword and semantic)."""
    from shared.views.search import find

    wanted = _asked(q=query, mode="words" if words else "hybrid", source=source, limit=limit)
    found = run_command(lambda clients: find(clients, wanted))
    items = found.items
    if json:
        shown = [item.model_dump(mode="json", by_alias=True) for item in items]
        return print_json({"query": query, "mode": found.mode, "total": found.total, "items": shown})
    items = [thread.items[0] for thread in found.threads]
    if found.note:
        print_note(found.note)
    table(
        ["date", "from", "thread", "subject and text*"],
        [
            (
                f"{item.date:%Y-%m-%d}" if item.date else "",
                (item.sender.name or item.sender.email)[:24],
                item.thread_id,
                f"{item.subject[:80]}: {item.sentence[:200]}",
            )
            for item in items
        ],
        empty="No results.",
    )
    return None


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What was said or decided.")],
    source: Annotated[str | None, typer.Option(metavar="NAME", help="One list only.")] = None,
    written: Annotated[
        bool, typer.Option(help="Let the chat model, if there is one, add sentences of its own.")
    ] = True,
    json: Json = False,
) -> None:
    """Answer a question with sentences of the mail, and with sentences of a chat model that they support."""
    from shared.views.ask import answer_question

    _asked(q=question, source=source)
    answer = run_command(lambda clients: answer_question(clients, question, source, written=written))
    if json:
        return print_json(answer.model_dump(mode="json", by_alias=True))
    if answer.note:
        print_note(answer.note)
    if answer.text:
        typer.echo(answer.text)
    for thread in answer.threads:
        outcome = f" ({thread.outcome.sentence})" if thread.outcome else ""
        typer.echo(clean(f"{thread.subject}{outcome}"))
        for sentence in thread.written or ():
            typer.echo(clean(f"  {answer.model}: {sentence.text}"))
            _show_quotes(sentence.quotes, "    ")
        _show_quotes(thread.sentences, "  ")
    return None


def _show_quotes(quotes: "Sequence[Quote]", margin: str) -> None:
    for quote in quotes:
        day = f", {quote.date:%Y-%m-%d}" if quote.date else ""
        typer.echo(clean(f'{margin}"{quote.text}" - {quote.sender.name or quote.sender.email}{day}'))
        typer.echo(clean(f"{margin}{quote.page}"))


def _asked(**given: object) -> "SearchAsked":
    from pydantic import ValidationError

    from shared.views.search import SearchAsked

    try:
        return SearchAsked.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = {"q": "QUERY"}.get(str(first["loc"][0]), f"--{first['loc'][0]}")
        raise CommandError(Code.USAGE, f"{name}: {first['msg']}") from None


@app.command("end")
def end_subscriptions(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The email address.")], json: Json = False
) -> None:
    """Delete all subscriptions of an email address."""
    from shared.publishing.subscriptions import forget_address

    ended = run_command(lambda clients: forget_address(clients, address))
    return answer(
        {"ended": ended}, f"{ended} ended." if ended else "This address has no subscriptions.", json=json
    )
