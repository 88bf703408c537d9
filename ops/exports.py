"""`export` writes all data to a folder. `archive import` ingests the archives of an export."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import Code, CommandError, Json, run_audited
from ops.output import answer, print_json, print_note, table

if TYPE_CHECKING:
    from shared.azure.connections import Clients
    from shared.operations.exporting import Exported

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the export.")]


def export(
    folder: Folder,
    everything: Annotated[bool, typer.Option("--all", help="Every document and every file.")] = False,
    json: Json = False,
) -> None:
    """Export all data to a folder: documents as JSON lines, archives as files.

    `archive import` ingests the archives again, from which the other data is derived, except corrections,
    placements and audit records. The export contains personal data and is not encrypted.
    """
    if not everything:
        raise CommandError(Code.USAGE, "Give --all to export everything.")

    async def work(clients: "Clients", counts: dict[str, int]) -> "Exported":
        from shared.operations.exporting import ExportExistsError, export_all

        try:
            done = await export_all(clients, folder)
        except ExportExistsError as error:
            raise CommandError(Code.USAGE, str(error)) from None
        counts.update({**done.documents, "files": done.files})
        return done

    done = run_audited("export", {"folder": str(folder)}, work)
    if json:
        print_json({"folder": str(folder), **done.__dict__})
    else:
        rows = [(name, f"{number:,}") for name, number in sorted(done.documents.items())]
        table(["exported", "number>"], [*rows, ("files", f"{done.files:,}")], empty="Nothing is stored.")
        print_note(f"Exported to {folder}.")
    if done.lost:
        raise CommandError(Code.PROBLEMS, f"The files of these archives are lost: {', '.join(done.lost)}")


def import_(folder: Folder, json: Json = False) -> None:
    """Ingest the archives of an export again."""
    if not (folder / "archives.jsonl").is_file():
        raise CommandError(Code.USAGE, f"{folder}: not an export: it has no archives.jsonl")

    async def work(clients: "Clients", counts: dict[str, int]) -> dict[str, int]:
        from shared.ingestion.uploads import Upload, take_upload
        from shared.operations.exporting import exported_archives

        counts.update({"archives": 0, "duplicates": 0})
        async for source, name, content in exported_archives(folder):
            stored = await take_upload(Upload(content, name, source), clients)
            counts["duplicates" if stored.duplicate else "archives"] += 1
        return counts

    counts = run_audited("archive.import", {"folder": str(folder)}, work)
    return answer(
        counts, f"{counts['archives']:,} archives added, {counts['duplicates']:,} already known.", json=json
    )


async def export_before_purge(clients: "Clients", archive_ids: list[str], folder: Path | None) -> Path:
    from shared.operations.exporting import export_archive

    target = folder or Path(f"purged-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    for archive_id in archive_ids:
        await export_archive(clients, archive_id, target / archive_id)
    return target
