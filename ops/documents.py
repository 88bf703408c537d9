"""`documents`: list stuck and failed documents, retry them, delete failed archives."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import Code, CommandError, Json, Limit, Yes, actor, run_command
from ops.output import ago, confirm, fields, print_json, print_note, print_rows, shortened, write_export

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.azure.connections import Clients
    from shared.operations.due_documents import DueDocument
    from shared.operations.oversight.stuck_documents import BulkResult

    Purge = Callable[[Clients, list[DueDocument]], Awaitable[BulkResult]]

app = typer.Typer(help="Stuck and failed documents: list, retry and purge them.", no_args_is_help=True)

Collection = Annotated[
    str | None,
    typer.Option(
        "--collection", "-c", metavar="NAME", help="archives, messages, chunks or threads (default: all)."
    ),
]
Which = Annotated[str, typer.Argument(metavar="COLLECTION", help="archives, messages, chunks or threads.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The documents' ids.")]
AllFailed = Annotated[bool, typer.Option("--all", help="Every failed document of the collection.")]
LONG_TEXT = 500
SHOWN_ERROR = 200
SHOWN_LEFT = 20


class Condition(StrEnum):
    STUCK = "stuck"
    FAILED = "failed"


@app.command("list")
def list_(
    id_: Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this document.")] = None,
    only: Annotated[Condition | None, typer.Option(help="Only stuck or only failed documents.")] = None,
    collection: Collection = None,
    limit: Limit = 50,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the whole documents, as JSON lines.")
    ] = None,
    json: Json = False,
) -> None:
    """List stuck and failed documents, or show one document.

    A document is stuck if it had no outcome for longer than RETRY_JOB_STUCK_THRESHOLD_HOURS. The sweep does
    not retry failed documents.
    """
    if id_ is None:
        return _list([only] if only else list(Condition), collection, limit, output, json=json)
    if only or collection:
        raise CommandError(Code.USAGE, "Give an id, or --only and --collection.")
    return _show(id_, json=json)


@app.command()
def retry(
    which: Which,
    ids: Ids = None,
    everything: AllFailed = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Set attempts to 0 and leave the documents to the next sweep.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Retry documents now, as a first attempt in their stage."""
    _act("reset" if reset else "retry", which, ids, everything, yes=yes, json=json)


@app.command()
def purge(
    which: Which,
    ids: Ids = None,
    everything: AllFailed = False,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the export is written (default: purged-TIME)."),
    ] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Export failed archives and delete them with all data derived from them.

    The id of a message, a chunk or a thread selects its archive. The app deletes archives in the background.
    Each archive is first exported to a folder of its own, which `archive import` reads.
    """
    purge = partial(_purge, output=output)
    _act("purge", which, ids, everything, yes=yes, json=json, purge=purge)


def _show(id_: str, *, json: bool) -> None:
    from shared.operations.oversight.stuck_documents import find_anywhere

    found = run_command(lambda clients: find_anywhere(clients, id_))
    if not found:
        raise CommandError(Code.FAILED, f"There is no document {id_!r}.")
    if json:
        return print_json([{"container": container, **stored} for container, stored in found])
    for container, stored in found:
        shown = {name: _cut(value) for name, value in _without_system_fields(stored).items()}
        fields({"container": container, **shown}.items())
    return None


def _list(
    conditions: list[Condition], name: str | None, limit: int, output: Path | None, *, json: bool
) -> None:
    async def work(clients: "Clients") -> "list[DueDocument]":
        from shared.operations.due_documents import COLLECTIONS
        from shared.operations.oversight.stuck_documents import (
            collection_named,
            failed_documents,
            stuck_documents,
        )

        collections = COLLECTIONS if name is None else (collection_named(name),)
        found: list[DueDocument] = []
        for condition in conditions:
            find = stuck_documents if condition is Condition.STUCK else failed_documents
            async for document in find(clients, collections):
                found.append(document)
                if len(found) > limit and output is None:
                    return found
        if output is not None:
            await _write(clients, found, output)
        return found

    found = run_command(work)
    if output is not None:
        return print_note(f"{len(found):,} documents written to {output}.")
    print_rows(
        found[:limit],
        ["collection", "id", "status", "tries>", "silent for>", "last error*"],
        lambda document: (
            document.collection.name, document.id, document.stored.get("status"),
            document.stored.get("attemptCount") or 0, ago(document.since),
            shortened(document.stored.get("lastError") or "no error recorded", SHOWN_ERROR),
        ),
        empty=f"No document is {' or '.join(conditions)}.",
        shown=(lambda document: document.shown()) if json else None,
    )  # fmt: skip
    if len(found) > limit and not json:
        print_note(f"Showing {limit}. Use --limit to show more.")
    return None


async def _write(clients: "Clients", documents: "list[DueDocument]", output: Path) -> None:
    from shared.operations.oversight.stuck_documents import find_anywhere

    write_export(
        str(output),
        [
            {"container": container, **_without_system_fields(stored)}
            for document in documents
            for container, stored in await find_anywhere(clients, document.id)
            if container == document.collection.name
        ],
    )


def _without_system_fields(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in stored.items() if not name.startswith("_")}


def _act(
    action: str,
    which: str,
    ids: list[str] | None,
    everything: bool,
    *,
    yes: bool,
    json: bool,
    purge: "Purge | None" = None,
) -> None:
    if bool(ids) == everything:
        raise CommandError(Code.USAGE, "Give ids, or --all for every failed document of the collection.")

    async def work(clients: "Clients") -> "tuple[str, BulkResult]":
        from shared.operations.audit import audited
        from shared.operations.oversight.stuck_documents import (
            BulkResult,
            collection_named,
            documents_by_id,
            failed_documents,
            reset_documents,
            retry_documents,
        )

        collection = collection_named(which)
        if ids:
            found = await documents_by_id(clients, collection, ids)
        else:
            found = [document async for document in failed_documents(clients, (collection,))]
        if not found:
            return collection.name, BulkResult(0, [])
        confirm(f"{action.capitalize()} {len(found):,} {collection.name}?", yes=yes)
        selection = {"collection": collection.name, "ids": [document.id for document in found[:1000]]}
        async with audited(clients, f"documents.{action}", actor(), selection) as counts:
            counts["planned"] = len(found)
            act = purge or {"reset": reset_documents, "retry": retry_documents}[action]
            done = await act(clients, found)
            counts["changed"], counts["left"] = done.changed, len(done.left)
        return collection.name, done

    name, done = run_command(work, changes=True)
    if json:
        left = [{"id": id_, "why": why} for id_, why in done.left]
        print_json({"action": f"documents.{action}", "changed": done.changed, "left": left})
    else:
        _print_result(action, name, done)
    if done.left:
        raise CommandError(Code.PROBLEMS)


async def _purge(clients: "Clients", documents: "list[DueDocument]", *, output: Path | None) -> "BulkResult":
    """Request the deletion of each failed archive. Leave the others, with the reason."""
    from ops.exports import export_before_purge
    from shared.operations.oversight.stuck_documents import BulkResult
    from shared.operations.removal.requests import request_removal

    left, changed = [], 0
    purged = [document.id for document in documents if _why_not_purged(document) is None]
    if purged:
        print_note(f"Exported to {await export_before_purge(clients, purged, output)}.")
    for document in documents:
        why = _why_not_purged(document)
        if why is None:
            asked = await request_removal(
                clients, "archive", document.id, requested_by=actor().name, now=clients.runtime.now()
            )
            changed += asked is not None
            why = None if asked is not None else "it no longer exists"
        if why is not None:
            left.append((document.id, why))
    return BulkResult(changed, left)


def _why_not_purged(document: "DueDocument") -> str | None:
    from shared.models.sources import Archive, ArchiveStatus

    if document.collection.model is not Archive:  # the consistency checks would create a part again
        return "it is part of an archive, which `archive delete` deletes"
    status = document.stored.get("status")
    if status in {ArchiveStatus.FAILED_MAX_RETRIES, ArchiveStatus.FAILED}:
        return None
    return f"it is {status}, not failed: `archive delete` deletes any archive"


def _print_result(action: str, name: str, done: "BulkResult") -> None:
    for id_, why in done.left[:SHOWN_LEFT]:
        print_note(f"{name}/{id_} was skipped: {why}.")
    if len(done.left) > SHOWN_LEFT:
        print_note(f"And {len(done.left) - SHOWN_LEFT:,} more: --json has all.")
    ends = {"reset": "reset. The next sweep requeues them", "retry": "sent", "purge": "are being deleted"}
    left = f" ({len(done.left):,} skipped)" if done.left else ""
    print_note(f"{done.changed:,} {name} {ends[action]}{left}.")


def _cut(value: Any) -> Any:
    text = str(value)
    return (
        value if len(text) <= LONG_TEXT else f"{text[:LONG_TEXT]}… ({len(text):,} characters; --json has all)"
    )
