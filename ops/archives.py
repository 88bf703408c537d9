"""Archives: take one in, see how far it has come, delete it with everything that came of it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import actor, run_command
from ops.exit_codes import Code, CommandError
from ops.options import Json
from ops.output import print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.ingestion.storing import Stored
    from shared.pipeline.progress import ArchiveProgress
    from shared.upkeep.oversight.archive_why import WhyNotDone

app = typer.Typer(help="Archives: ingest one, follow it, delete it.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="ID", help="The archive's id.", show_default=False)]
POLL_SECONDS = 2.0


@app.command()
def ingest(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An mbox, .eml, Maildir, zip or tar file, also compressed.")
    ],
    source: Annotated[str, typer.Option(metavar="NAME", help="The name of its list.")] = "uploads",
    json: Json = False,
) -> None:
    """Take an archive in from a file, as an upload is."""

    async def work(clients: "Clients") -> "tuple[Stored, str | None]":
        from shared.ingestion.errors import ArchiveError
        from shared.ingestion.uploads import Upload, note_on_source, take_upload
        from shared.upkeep.audit import audited

        selection = {"file": file.name, "source": source}
        async with audited(clients, "archive.ingest", actor(), selection) as counts:
            try:
                stored = await take_upload(Upload(_content(file), file.name, source), clients)
            except ArchiveError as error:
                raise CommandError(Code.FAILED, f"{file}: {error}") from None
            counts["duplicates" if stored.duplicate else "archives"] = 1
            return stored, await note_on_source(source, clients)

    stored, note = run_command(work)
    if json:
        print_json(
            {
                "archive_id": stored.archive.id,
                "duplicate": stored.duplicate,
                "announced": stored.announced,
                "note": note,
            }
        )
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
    json: Json = False,
) -> None:
    """Show the progress of an archive."""

    async def work(clients: "Clients") -> "ArchiveProgress":
        import asyncio

        from shared.pipeline.progress import archive_progress

        while True:
            found = await archive_progress(clients, id_)
            if not follow or found.complete:
                return found
            print_note(f"{time.strftime('%H:%M:%S')}  {found.percent} %")
            await asyncio.sleep(POLL_SECONDS)

    found = run_command(work)
    if json:
        return print_json({"archive_id": id_, "status": found.status, **found.to_json()})
    table(
        ["stage", "done>", "of>", "unit", "given up>"],
        [
            (stage.name, f"{stage.done:,}", f"{stage.total:,}", f"{stage.unit}s", f"{stage.failed:,}")
            for stage in found.stages
        ],
        empty="",
    )
    gaps = "".join(f"; {gap}" for gap in found.gaps)
    print_note(f"{id_} is {found.status}, {found.percent} % of the way{gaps}.")
    return None


@app.command()
def why(id_: Id, json: Json = False) -> None:
    """Say why an archive is not done: which documents and stage, which error, what happens next and when."""
    from shared.upkeep.oversight.archive_why import why_not_done

    async def work(clients: "Clients") -> "WhyNotDone":
        return await why_not_done(clients, id_)

    found = run_command(work)
    if json:
        return print_json(found.shown())
    table(
        ["stage", "documents>", "state", "error*", "next", "not before"],
        [
            (
                obstacle.stage,
                f"{obstacle.count:,} {obstacle.collection}",
                obstacle.state,
                obstacle.error or "",
                obstacle.next,
                f"{obstacle.at:%Y-%m-%d %H:%M}" if obstacle.at else "",
            )
            for obstacle in found.obstacles
        ],
        empty="Nothing pending or failed.",
    )
    examples = [f"`timeline {obstacle.examples[0]}`" for obstacle in found.obstacles[:3]]
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
