"""`search`: all mail, by words and by meaning."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import run_command
from ops.exit_codes import Code, CommandError
from ops.options import Json
from ops.output import print_json, print_note, table

if TYPE_CHECKING:
    from shared.retrieval.search import SearchAsked


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Keywords or a question.")],
    source: Annotated[str | None, typer.Option(metavar="NAME", help="One list only.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Keyword search only.")] = False,
    limit: Annotated[int, typer.Option(metavar="COUNT", min=1, max=50, help="Maximum number.")] = 10,
    json: Json = False,
) -> None:
    """Search all mail, by words and by meaning."""
    from shared.retrieval.search import find, found_items

    wanted = _asked(q=query, mode="words" if words else "hybrid", source=source, limit=limit)
    found = run_command(lambda clients: find(clients, wanted))
    items = found_items(found.hits)
    if json:
        shown = [item.model_dump(mode="json", by_alias=True) for item in items]
        return print_json({"query": query, "mode": found.mode, "total": found.total, "items": shown})
    if found.note:
        print_note(found.note)
    table(
        ["date", "from", "thread", "subject and text*"],
        [
            (
                f"{item.date:%Y-%m-%d}" if item.date else "",
                (item.sender.name or item.sender.email)[:24],
                item.thread_id,
                f"{item.subject[:80]}: {item.text[:200]}",
            )
            for item in items
        ],
        empty="No results.",
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
        raise CommandError(Code.USAGE, f"{name}: {first['msg']}") from None
