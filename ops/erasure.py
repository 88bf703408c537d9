"""`erase`: erase a message, a person, a thread or an archive permanently."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import Code, CommandError, Json, Yes, actor, run_audited, run_command
from ops.output import confirm, print_json, print_note, table

if TYPE_CHECKING:
    from shared.azure.connections import Clients
    from shared.operations.erasure.run import ErasurePlan, ErasureTarget

QUOTES = "Also erase mails of other people that quote a line of the erased mail."


def erase(
    message: Annotated[str | None, typer.Option(metavar="ID", help="A Message-ID, in all lists.")] = None,
    person: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="All mails of an address, also later ones.")
    ] = None,
    thread: Annotated[str | None, typer.Option(metavar="ID", help="A thread's id.")] = None,
    archive: Annotated[
        str | None, typer.Option(metavar="ID", help="The mails that only this archive contains.")
    ] = None,
    quotes: Annotated[bool, typer.Option("--quotes", help=QUOTES)] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be erased without erasing it.")
    ] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Erase mail permanently. Fetches, uploads and reprocessing do not restore it.

    Archives that contain it are replaced by archives without it. If interrupted, run the same command again.
    """
    given = {"message": message, "person": person, "thread": thread, "archive": archive}
    chosen = [(kind, value) for kind, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise CommandError(Code.USAGE, "Choose one of --message, --person, --thread and --archive.")
    kind, value = chosen[0]

    async def plan_target(clients: "Clients") -> "ErasurePlan":
        from shared.core.errors import NotFoundError
        from shared.operations.erasure.run import plan_erasure

        try:
            return await plan_erasure(clients, _target(kind, value, quotes=quotes))
        except NotFoundError as error:
            raise CommandError(Code.FAILED, str(error)) from None

    plan = run_command(plan_target)
    if dry_run:
        return _show(plan.counts(), plan.roles, json=json)
    found = plan.counts()
    confirm(f"Erase {found['messages']} messages of {found['threads']} threads permanently?", yes=yes)

    from shared.ingestion.redaction import hidden_name
    from shared.operations.erasure.run import erase as erase_planned

    async def work(clients: "Clients", counts: dict[str, int]) -> dict[str, int]:
        counts.update(await erase_planned(clients, plan, actor().name, print_note))
        return counts

    # The record is kept permanently, so it does not name the erased person.
    selection = {kind: hidden_name(value) if kind == "person" else value, "quotes": quotes}
    return _show(run_audited("erase", selection, work), plan.roles, json=json)


def _target(kind: str, value: str, *, quotes: bool) -> "ErasureTarget":
    from shared.operations.erasure.run import ErasedKind, ErasureTarget

    return ErasureTarget(ErasedKind(kind), value, quotes=quotes)


def _show(counts: dict[str, int], roles: list[str], *, json: bool) -> None:
    if json:
        return print_json({"counts": counts, "named_in_sources": roles})
    rows = [(name.replace("_", " "), f"{number:,}") for name, number in counts.items()]
    table(["erased", "count>"], rows, empty="Nothing to erase.")
    if roles:
        print_note(f"The definitions of these sources name the person as well: {', '.join(roles)}.")
    return None
