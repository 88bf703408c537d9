"""`archive`: ingest an archive, show its progress, or delete it with everything derived from it."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import Code, CommandError, Json, Yes, actor, run_audited, run_command
from ops.output import answer, confirm, print_json, print_note, table

if TYPE_CHECKING:
    from shared.azure.connections import Clients
    from shared.ingestion.storing import Stored
    from shared.models.sources import Removal
    from shared.pipeline.progress import ArchiveProgress

app = typer.Typer(help="Archives: ingest one, follow it, delete it.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="ID", help="The archive's id.")]
PROGRESS_SECONDS = 2.0
REMOVAL_SECONDS = 1.0
Here = Annotated[bool, typer.Option("--here", help="Delete in this process instead of waiting for the app.")]


@app.command()
def ingest(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="An mbox, .eml, zip or tar (also of a Maildir), also compressed."
        ),
    ],
    source: Annotated[str, typer.Option(metavar="NAME", help="The name of its list.")] = "uploads",
    json: Json = False,
) -> None:
    """Ingest an archive from a file, as an upload does."""

    async def work(clients: "Clients", counts: dict[str, int]) -> "tuple[Stored, str | None]":
        from shared.ingestion.errors import ArchiveError
        from shared.ingestion.uploads import Upload, note_on_source, take_upload

        try:
            stored = await take_upload(Upload(_content(file), file.name, source), clients)
        except ArchiveError as error:
            raise CommandError(Code.FAILED, f"{file}: {error}") from None
        counts["duplicates" if stored.duplicate else "archives"] = 1
        return stored, await note_on_source(source, clients)

    stored, note = run_audited("archive.ingest", {"file": file.name, "source": source}, work)
    if json:
        print_json(
            {"archive_id": stored.archive.id, "duplicate": stored.duplicate, "announced": stored.announced,
             "note": note}
        )  # fmt: skip
    else:
        typer.echo(stored.archive.id)
        print_note(
            "The archive is already known."
            if stored.duplicate
            else "Added. See its progress with `archive progress`."
        )
        if note:
            print_note(note)


@app.command()
def progress(
    id_: Id,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait until it is complete.")] = False,
    why: Annotated[
        bool,
        typer.Option("--why", help="Show what is pending or failed, with stage, error, next step and time."),
    ] = False,
    json: Json = False,
) -> None:
    """Show the progress of an archive, or why it is incomplete."""
    if why:
        if follow:
            raise CommandError(Code.USAGE, "--why does not wait. Leave out --follow.")
        return _show_why(id_, json=json)

    async def work(clients: "Clients") -> "ArchiveProgress":
        from shared.pipeline.progress import archive_progress

        while True:
            found = await archive_progress(clients, id_)
            if not follow or found.complete:
                return found
            print_note(f"{time.strftime('%H:%M:%S')}  {found.percent} %")
            await asyncio.sleep(PROGRESS_SECONDS)

    found = run_command(work)
    if json:
        return print_json({"archive_id": id_, "status": found.status, **found.to_json()})
    table(
        ["stage", "done>", "of>", "unit", "failed>"],
        [
            (stage.name, f"{stage.done:,}", f"{stage.total:,}", f"{stage.unit}s", f"{stage.failed:,}")
            for stage in found.stages
        ],
        empty="",
    )
    gaps = "".join(f"; {gap}" for gap in found.gaps)
    print_note(f"{id_} is {found.status}, {found.percent} % of the way{gaps}.")
    return None


def _show_why(id_: str, *, json: bool) -> None:
    from shared.operations.oversight.stuck_documents import find_blockers

    found = run_command(lambda clients: find_blockers(clients, id_))
    if json:
        return print_json(found.shown())
    table(
        ["stage", "documents>", "state", "error*", "next", "not before"],
        [
            (blocker.stage, f"{blocker.count:,} {blocker.collection}", blocker.state,
             blocker.error or "", blocker.next, f"{blocker.at:%Y-%m-%d %H:%M}" if blocker.at else "")
            for blocker in found.obstacles
        ],
        empty="Nothing pending or failed.",
    )  # fmt: skip
    examples = [f"`timeline {blocker.examples[0]}`" for blocker in found.obstacles[:3]]
    done = "complete" if found.progress.complete else f"{found.progress.percent} % of the way"
    print_note(
        f"{id_} is {found.progress.status}, {done}." + (f" More: {', '.join(examples)}." if examples else "")
    )
    return None


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandError(Code.USAGE, f"{file}: cannot be read: {error.strerror}") from None


@app.command("delete")
def delete_archive(id_: Id, here: Here = False, yes: Yes = False, json: Json = False) -> None:
    """Delete an archive with all data derived from it.

    Messages that other archives also have are kept. If interrupted, run the same command again.
    """
    _delete("archive", id_, here=here, yes=yes, json=json)


def delete_source(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The source's name.")],
    keep: Annotated[bool, typer.Option("--keep-archives", help="Delete only the definition.")] = False,
    here: Here = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a source with its archives and all data derived from them.

    If interrupted, run the same command again.
    """
    if not keep:
        return _delete("source", name, here=here, yes=yes, json=json)
    confirm(f"Delete the definition of {name} and keep its archives?", yes=yes)

    async def work(clients: "Clients", counts: dict[str, int]) -> None:
        from shared.azure.cosmos.session import Session
        from shared.models.sources import Source

        counts["sources"] = int(await clients.store.delete(Source, name, Session()))
        if not counts["sources"]:
            raise CommandError(Code.FAILED, f"There is no source named {name!r}.")

    run_audited("source.delete", {"source": name, "cascade": False}, work)
    deleted = {"source": name, "deleted": True, "cascade": False}
    return answer(deleted, f"{name} was deleted. Its data is kept.", json=json)


def _delete(kind: str, target: str, *, here: bool, yes: bool, json: bool) -> None:
    confirm(f"Delete {kind} {target} with everything derived from it? This cannot be undone.", yes=yes)
    removal = run_audited(
        f"{kind}.delete",
        {kind: target},
        lambda clients, counts: _remove(clients, counts, kind, target, here=here),
    )
    _show_receipt(removal, json=json)
    if removal.status != "succeeded":
        raise CommandError(Code.FAILED, removal.error or f"The deletion {removal.status}.")


async def _remove(
    clients: "Clients", counts: dict[str, int], kind: str, target: str, *, here: bool
) -> "Removal":
    from shared.azure.cosmos.session import Session
    from shared.models.sources import Removal
    from shared.operations.removal.requests import request_removal
    from shared.operations.removal.run import run_removal
    from shared.pipeline.state.archives import DONE

    removal = await request_removal(
        clients, kind, target, requested_by=actor().name, now=clients.runtime.now()
    )
    if removal is None:
        raise CommandError(Code.FAILED, f"There is no {kind} {target!r}.")
    if here:
        removal = await run_removal(removal.id, clients)
    else:
        print_note("Requested. Waiting for the app to delete it (Ctrl-C stops waiting).")
    while removal.status not in DONE:
        await asyncio.sleep(REMOVAL_SECONDS)
        removal = await clients.store.read(Removal, removal.id, Session())
    counts.update(removal.counts)
    return removal


def _show_receipt(removal: "Removal", *, json: bool) -> None:
    receipt: dict[str, Any] = removal.model_dump(
        mode="json",
        include={"id", "target_kind", "target", "status", "counts", "left", "finished_at", "error"},
    )
    if json:
        return print_json(receipt)
    rows = [(name, f"{number:,}") for name, number in removal.counts.items()]
    table(["removed", "count>"], rows, empty="Nothing to remove.")
    left = sum(removal.left.values())
    print_note(f"{removal.target_kind} {removal.target}: {removal.status}; {left} documents left.")
    return None
