"""`documents`: those that are stuck or were given up."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import actor, run_command
from ops.exit_codes import Code, CommandError
from ops.options import Json, Limit, Yes
from ops.output import ago, confirm, fields, print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.upkeep.oversight.stuck_documents import BulkResult, StuckDocument

app = typer.Typer(help="Documents: stuck and failed ones, and what to do about them.", no_args_is_help=True)

Collection = Annotated[
    str | None,
    typer.Option(
        "--collection",
        "-c",
        metavar="NAME",
        help="archives, messages, chunks or threads; default: all.",
    ),
]
Which = Annotated[
    str,
    typer.Argument(metavar="COLLECTION", help="archives, messages, chunks or threads.", show_default=False),
]
Ids = Annotated[
    list[str] | None, typer.Argument(metavar="[ID]...", help="The documents' ids.", show_default=False)
]
AllFailed = Annotated[bool, typer.Option("--all", help="Every failed document of the collection.")]
LONG_TEXT = 500
SHOWN_LEFT = 20


@app.command()
def stuck(collection: Collection = None, limit: Limit = 50, json: Json = False) -> None:
    """List documents that nothing was heard of for longer than RETRY_JOB_STUCK_THRESHOLD_HOURS."""
    _list("stuck", collection, limit, json=json)


@app.command()
def failed(collection: Collection = None, limit: Limit = 50, json: Json = False) -> None:
    """List documents that were given up: the sweep does not look at them again."""
    _list("failed", collection, limit, json=json)


@app.command()
def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="A document's id.")], json: Json = False
) -> None:
    """Show a document, in whichever container it is."""
    from shared.upkeep.oversight.stuck_documents import find_anywhere

    found = run_command(lambda clients: find_anywhere(clients, id_))
    if not found:
        raise CommandError(Code.FAILED, f"There is no document {id_!r}.")
    if json:
        return print_json([{"container": container, **stored} for container, stored in found])
    for container, stored in found:
        pairs: list[tuple[str, Any]] = [("container", container)]
        pairs += [(name, _cut(value)) for name, value in stored.items() if not name.startswith("_")]
        fields(pairs)
    return None


@app.command()
def reset(
    which: Which, ids: Ids = None, everything: AllFailed = False, yes: Yes = False, json: Json = False
) -> None:
    """Count no attempt for failed documents and make them pending: the next sweep asks for them."""
    _act("reset", which, ids, everything, yes=yes, json=json)


@app.command()
def retry(
    which: Which, ids: Ids = None, everything: AllFailed = False, yes: Yes = False, json: Json = False
) -> None:
    """Try documents again now: counted as a first attempt, and sent to their own stage."""
    _act("retry", which, ids, everything, yes=yes, json=json)


@app.command()
def purge(
    which: Which, ids: Ids = None, everything: AllFailed = False, yes: Yes = False, json: Json = False
) -> None:
    """Delete archives that were given up for good, with whatever came of them. It cannot be undone.

    A message, a chunk or a thread goes with its archive. The app deletes in the background.
    """
    _act("purge", which, ids, everything, yes=yes, json=json)


def _list(kind: str, name: str | None, limit: int, *, json: bool) -> None:
    async def work(clients: "Clients") -> "list[StuckDocument]":
        from shared.upkeep.oversight.stuck_documents import (
            collection_named,
            failed_documents,
            stuck_documents,
        )
        from shared.upkeep.requeue.due_document import COLLECTIONS

        collections = COLLECTIONS if name is None else (collection_named(name),)
        find = stuck_documents if kind == "stuck" else failed_documents
        found = []
        async for document in find(clients, collections):
            found.append(document)
            if len(found) > limit:
                break
        return found

    found = run_command(work)
    if json:
        return print_json([document.shown() for document in found[:limit]])
    table(
        ["collection", "id", "status", "tries>", "silent for>", "last error*"],
        [
            (
                document.collection.name,
                document.id,
                document.stored.get("status"),
                document.stored.get("attemptCount") or 0,
                ago(document.since),
                str(document.stored.get("lastError") or "no error recorded")[:200],
            )
            for document in found[:limit]
        ],
        empty=f"No document is {kind}.",
    )
    if len(found) > limit:
        print_note(f"Showing {limit}. Use --limit to show more.")
    return None


def _act(action: str, which: str, ids: list[str] | None, everything: bool, *, yes: bool, json: bool) -> None:
    if bool(ids) == everything:
        raise CommandError(Code.USAGE, "Give ids, or --all for every failed document of the collection.")

    async def work(clients: "Clients") -> "tuple[str, BulkResult]":
        from shared.upkeep.audit import audited
        from shared.upkeep.oversight.stuck_documents import (
            BulkResult,
            collection_named,
            failed_documents,
            troubled_by_id,
        )

        collection = collection_named(which)
        if ids:
            found = await troubled_by_id(clients, collection, ids)
        else:
            found = [document async for document in failed_documents(clients, (collection,))]
        if not found:
            return collection.name, BulkResult(0, [])
        confirm(f"{action.capitalize()} {len(found):,} {collection.name}?", yes=yes)
        selection = {"collection": collection.name, "ids": [document.id for document in found[:1000]]}
        async with audited(clients, f"documents.{action}", actor(), selection) as counts:
            counts["planned"] = len(found)
            done = await _change(clients, action, found)
            counts["changed"], counts["left"] = done.changed, len(done.left)
        return collection.name, done

    name, done = run_command(work)
    if json:
        left = [{"id": skipped.id, "why": skipped.why} for skipped in done.left]
        print_json({"action": f"documents.{action}", "changed": done.changed, "left": left})
    else:
        _tell(action, name, done)
    if done.left:
        raise CommandError(Code.PROBLEMS)


async def _change(clients: "Clients", action: str, found: "list[StuckDocument]") -> "BulkResult":
    from ops.purging import purge_documents
    from shared.upkeep.oversight.stuck_documents import reset_documents, retry_documents

    if action == "purge":
        return await purge_documents(clients, found, requested_by=actor().name)
    return await (reset_documents if action == "reset" else retry_documents)(clients, found)


def _tell(action: str, name: str, done: "BulkResult") -> None:
    for skipped in done.left[:SHOWN_LEFT]:
        print_note(f"{name}/{skipped.id} was skipped: {skipped.why}.")
    if len(done.left) > SHOWN_LEFT:
        print_note(f"And {len(done.left) - SHOWN_LEFT:,} more: --json has all.")
    end = {"reset": "reset: the next sweep asks for them", "retry": "sent", "purge": "are being deleted"}[
        action
    ]
    left = f"; {len(done.left):,} skipped" if done.left else ""
    print_note(f"{done.changed:,} {name} {end}{left}.")


def _cut(value: Any) -> Any:
    text = str(value)
    return (
        value if len(text) <= LONG_TEXT else f"{text[:LONG_TEXT]}… ({len(text):,} characters; --json has all)"
    )
