"""`search`: all mail, by words and by meaning."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import run_command
from ops.exit_codes import Code, CommandError
from ops.options import Json
from ops.output import print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.retrieval.search import SearchAsked, SearchResult


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

    async def work(clients: "Clients") -> "SearchResult":
        from shared.retrieval.search import find

        return await find(clients, wanted)

    found = run_command(work)
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
        raise CommandError(Code.USAGE, f"{name}: {first['msg']}") from None
