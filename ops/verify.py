"""`verify`: runs the consistency checks now."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import actor, run_command
from ops.exit_codes import Code, CommandError
from ops.options import Json, Yes
from ops.output import confirm, print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.documents.records import Run

SHOWN = 20


def verify(
    archives: Annotated[
        bool,
        typer.Option(help="Parse the archives again and compare messages, threads and citations."),
    ] = True,
    repair: Annotated[bool, typer.Option("--repair", help="Repair damaged data.")] = False,
    recent: Annotated[
        bool,
        typer.Option("--recent", help="Check documents of the last hour, too. Use it when nothing runs."),
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Check that what is stored fits together, and repair it where asked to. Exit code 3: damage is left."""
    if repair:
        confirm("Repair the problems found? Work is requested again, and orphans are deleted.", yes=yes)
    done = run_command(lambda clients: _verified(clients, repair=repair, archives=archives, recent=recent))
    found = sum(counts["found"] for counts in done.counts.values())
    repaired = sum(counts["repaired"] for counts in done.counts.values())
    if json:
        print_json(done.model_dump(mode="json", exclude={"etag"}))
    else:
        _show(done, found, repaired, repair=repair)
    if done.errors:
        raise CommandError(Code.FAILED, "; ".join(done.errors))
    if found > repaired:
        raise CommandError(Code.PROBLEMS)


async def _verified(clients: "Clients", *, repair: bool, archives: bool, recent: bool) -> "Run":
    from shared.upkeep.audit import audited
    from shared.upkeep.integrity.run import GRACE, VerifyOptions
    from shared.upkeep.integrity.run import verify as run_checks

    grace = timedelta(0) if recent else GRACE
    options = VerifyOptions(repair=repair, archives=archives, grace=grace, requested_by=actor().name)
    if not repair:
        return await run_checks(clients, options)
    async with audited(clients, "verify.repair", actor(), {}) as counts:
        done = await run_checks(clients, options)
        counts.update({kind: tally["repaired"] for kind, tally in done.counts.items() if tally["repaired"]})
    return done


def _show(done: "Run", found: int, repaired: int, *, repair: bool) -> None:
    table(
        ["damage", "found>", "repaired>"],
        [
            (kind.replace("_", " "), f"{counts['found']:,}", f"{counts['repaired']:,}")
            for kind, counts in done.counts.items()
            if counts["found"]
        ],
        empty="No problems found.",
    )
    if not found:
        return
    table(
        ["damage", "container", "id", "detail*"],
        [
            (finding["kind"].replace("_", " "), finding["container"], finding["id"], finding["detail"])
            for finding in done.examples[:SHOWN]
        ],
        empty="",
    )
    print_note(
        f"{found:,} found, {repaired:,} repaired."
        if repair
        else f"{found:,} found. Repair them with --repair."
    )
