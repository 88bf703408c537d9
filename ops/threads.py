"""Threads: split one, move or reattach a message, undo that, and show what was done."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops import command
from ops.exit_codes import wrong_usage
from ops.options import Json
from ops.output import print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.documents.edits import Placement

app = typer.Typer(help="Placements of messages by operators.", no_args_is_help=True)
ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.", show_default=False)]
MessageId = Annotated[
    str,
    typer.Argument(
        metavar="MESSAGE-ID", help="A message of the thread. Its replies move with it.", show_default=False
    ),
]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, kept in the history.")]


@app.command("split")
def split_thread(thread: ThreadId, message: MessageId, *, reason: Why, json: Json = False) -> None:
    """Begin a thread of its own with a message."""
    _place(thread, message, reason, json=json)


@app.command("move")
def move_message(
    thread: ThreadId,
    message: MessageId,
    *,
    to: Annotated[str, typer.Option(metavar="THREAD", help="The target thread.")],
    reason: Why,
    json: Json = False,
) -> None:
    """Move a message to another thread of the same list."""
    _place(thread, message, reason, json=json, to_thread=to)


@app.command("reattach")
def reattach_message(
    thread: ThreadId,
    message: MessageId,
    *,
    under: Annotated[str, typer.Option(metavar="MESSAGE-ID", help="The message it replies to.")],
    reason: Why,
    json: Json = False,
) -> None:
    """Attach a message to the one that it answers, in any thread of the same list."""
    _place(thread, message, reason, json=json, parent_id=under)


@app.command("undo")
def undo(
    id_: Annotated[str, typer.Argument(metavar="ID", help="As `history` shows it.", show_default=False)],
    *,
    reason: Why,
    json: Json = False,
) -> None:
    """Let a message's own headers say again where it belongs; the record stays."""

    async def work(clients: "Clients") -> "Placement":
        from shared.upkeep.placing import undo_placement

        return await undo_placement(clients, id_, reason, command.actor())

    _tell(command.run_command(work), json=json)


@app.command("history")
def show_history(thread: ThreadId, json: Json = False) -> None:
    """Show what was split off, moved and undone in a thread."""

    async def work(clients: "Clients") -> "list[Placement]":
        from shared.upkeep.placing import placements_of_thread

        return await placements_of_thread(clients, thread)

    found = command.run_command(work)
    if json:
        return print_json([_shown(placement) for placement in found])
    table(
        ["id", "act", "message", "from thread", "under", "by", "at", "reason*"],
        [
            (placement.id, entry.act, placement.message_id, entry.thread_id, entry.parent, entry.by,
             f"{entry.at:%F %R}", entry.reason)
            for placement in found
            for entry in placement.entries
        ],
        empty="This thread has no placements.",
    )  # fmt: skip
    return None


def _place(thread: str, message: str, reason: str, *, json: bool, **target: str) -> None:
    async def work(clients: "Clients") -> "Placement":
        from pydantic import ValidationError

        from shared.upkeep.placing import PlacementAsked, place_message

        try:
            asked = PlacementAsked(message_id=message, reason=reason, **target)
        except ValidationError as error:
            raise wrong_usage(error) from None
        return await place_message(clients, thread, asked, command.actor())

    _tell(command.run_command(work), json=json)


def _shown(placement: "Placement") -> dict[str, Any]:
    return placement.model_dump(mode="json", exclude={"etag"})


def _tell(placement: "Placement", *, json: bool) -> None:
    if json:
        return print_json(_shown(placement))
    typer.echo(placement.id)
    print_note("The threads, their summaries and reports are being updated.")
    return None
