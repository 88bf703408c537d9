"""Deletes archives and sources with everything derived, and shows the receipt."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import actor, run_command
from ops.exit_codes import Code, CommandError
from ops.options import Json, Yes
from ops.output import confirm, print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.documents.sources import Removal

Here = Annotated[bool, typer.Option("--here", help="Delete in this process instead of waiting for the app.")]
POLL_SECONDS = 1.0


def delete_archive(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The archive's id.", show_default=False)],
    here: Here = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete an archive with everything that came of it; the receipt counts what was removed.

    Messages that stand in other archives as well stay. Broken off, the same command goes on.
    """
    _delete("archive", id_, here=here, yes=yes, json=json)


def delete_source(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The source's name.", show_default=False)],
    keep: Annotated[bool, typer.Option("--keep-archives", help="Delete only the definition.")] = False,
    here: Here = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a source with its archives and everything that came of them; the receipt counts it.

    Broken off, the same command goes on.
    """
    if not keep:
        return _delete("source", name, here=here, yes=yes, json=json)
    confirm(f"Delete the definition of {name} and keep its archives?", yes=yes)
    deleted = run_command(lambda clients: _delete_definition(clients, name))
    if not deleted:
        raise CommandError(Code.FAILED, f"There is no source named {name!r}.")
    if json:
        print_json({"source": name, "deleted": True, "cascade": False})
    else:
        print_note(f"{name} was deleted. Its data is kept.")
    return None


async def _delete_definition(clients: "Clients", name: str) -> bool:
    from shared.clients.cosmos.session import Session
    from shared.documents.sources import Source
    from shared.upkeep.audit import audited

    async with audited(clients, "source.delete", actor(), {"source": name, "cascade": False}) as counts:
        deleted = await clients.store.delete(Source, name, name, Session())
        counts["sources"] = int(deleted)
    return deleted


def _delete(kind: str, target: str, *, here: bool, yes: bool, json: bool) -> None:
    confirm(f"Delete {kind} {target} with everything derived from it? This cannot be undone.", yes=yes)
    removal = run_command(lambda clients: _removed(clients, kind, target, here=here))
    _show(removal, json=json)
    if removal.status != "succeeded":
        raise CommandError(Code.FAILED, removal.error or f"The deletion {removal.status}.")


async def _removed(clients: "Clients", kind: str, target: str, *, here: bool) -> "Removal":
    from shared.upkeep.audit import audited
    from shared.upkeep.removal.requests import request_removal
    from shared.upkeep.removal.run import run_removal

    async with audited(clients, f"{kind}.delete", actor(), {kind: target}) as counts:
        removal = await request_removal(
            clients, kind, target, requested_by=actor().name, now=clients.runtime.now()
        )
        if removal is None:
            raise CommandError(Code.FAILED, f"There is no {kind} {target!r}.")
        if here:
            removal = await run_removal(removal.id, clients)
        else:
            print_note("Requested. Waiting for the app to delete it (Ctrl-C stops waiting).")
        removal = await _followed(clients, removal)
        counts.update(removal.counts)
    return removal


async def _followed(clients: "Clients", removal: "Removal") -> "Removal":
    from shared.clients.cosmos.session import Session
    from shared.documents.sources import Removal
    from shared.pipeline.tombstones import DONE

    while removal.status not in DONE:
        await asyncio.sleep(POLL_SECONDS)
        removal = await clients.store.read(Removal, removal.id, removal.id, Session())
    return removal


def _show(removal: "Removal", *, json: bool) -> None:
    receipt: dict[str, Any] = removal.model_dump(
        mode="json",
        include={"id", "target_kind", "target", "status", "counts", "left", "finished_at", "error"},
    )
    if json:
        return print_json(receipt)
    rows = [(name, f"{number:,}") for name, number in removal.counts.items()]
    table(["removed", "count>"], rows, empty="Nothing to remove.")
    left = sum(removal.left.values())
    print_note(f"{removal.target_kind} {removal.target}: {removal.status}; {left} left of it.")
    return None
