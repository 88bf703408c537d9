"""People: which addresses that share a name are one person's."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops import command
from ops.exit_codes import wrong_usage
from ops.options import Json
from ops.output import print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.documents.sources import Source
    from shared.domain.consensus.linked_thread import SharedName

app = typer.Typer(help="Names that several addresses use.", no_args_is_help=True)
SourceName = Annotated[str, typer.Argument(metavar="SOURCE", help="The source's name.", show_default=False)]
Addresses = Annotated[
    list[str], typer.Argument(metavar="ADDRESS...", help="Two or more.", show_default=False)
]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, kept in the history.")]


@app.command("proposals")
def show_proposals(source: SourceName, json: Json = False) -> None:
    """Show the names that several addresses of a list go by, and nobody has decided on."""

    async def work(clients: "Clients") -> "list[SharedName]":
        from shared.upkeep.deciding_people import proposals

        return await proposals(clients, source)

    found = command.run_command(work)
    if json:
        return print_json([{"name": one.name, "addresses": list(one.addresses)} for one in found])
    table(
        ["name", "addresses*"],
        [(one.name, " ".join(one.addresses)) for one in found],
        empty="No name is open: each has one address, or was decided on.",
    )
    return None


@app.command("accept")
def accept(source: SourceName, addresses: Addresses, *, reason: Why, json: Json = False) -> None:
    """Say that these addresses are one person's."""
    _decide(source, addresses, reason, is_one_person=True, json=json)


@app.command("refuse")
def refuse(source: SourceName, addresses: Addresses, *, reason: Why, json: Json = False) -> None:
    """Say that these addresses are of different people with one name."""
    _decide(source, addresses, reason, is_one_person=False, json=json)


def _decide(name: str, addresses: list[str], reason: str, *, is_one_person: bool, json: bool) -> None:
    async def work(clients: "Clients") -> "Source":
        from pydantic import ValidationError

        from shared.upkeep.deciding_people import PeopleDecision, decide

        try:
            asked = PeopleDecision(addresses=addresses, is_one_person=is_one_person, reason=reason)
            return await decide(clients, name, asked, command.actor())
        except ValidationError as error:
            raise wrong_usage(error) from None

    source = command.run_command(work)
    if json:
        return print_json({key: source.settings.get(key, []) for key in ("aliases", "namesakes")})
    print_note(
        f"Decided. It counts for what is read from now on: `resummarize --source {name}` reads all anew."
    )
    return None
