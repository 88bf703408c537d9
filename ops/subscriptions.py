"""Digests by e-mail: end what an address has subscribed to."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import run_command
from ops.options import Json
from ops.output import print_json, print_note

if TYPE_CHECKING:
    from shared.clients.connections import Clients

app = typer.Typer(help="Email digests.", no_args_is_help=True)
Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="The email address.", show_default=False)]


@app.command("end")
def end_subscriptions(address: Address, json: Json = False) -> None:
    """End all digests of an address, and delete it."""

    async def work(clients: "Clients") -> int:
        from shared.publishing.email.subscribing import forget_address

        return await forget_address(clients, address)

    ended = run_command(work)
    if json:
        return print_json({"ended": ended})
    print_note(f"{ended} ended." if ended else "This address has no subscriptions.")
    return None
