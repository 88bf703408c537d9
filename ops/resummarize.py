"""`resummarize`: have threads read anew, though nothing in them changed."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import Interrupt, actor, run_command
from ops.exit_codes import Code, CommandError
from ops.options import DryRun, Json, Yes
from ops.output import confirm, print_json, print_note

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.clients.servicebus.dead_letter_mover import OperationObserver
    from shared.documents.records import Audit
    from shared.upkeep.resummarizing import ThreadSelection


def resummarize(
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help="One thread's id.", show_default=False)
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="All threads of a list.", show_default=False)
    ] = None,
    all_threads: Annotated[bool, typer.Option("--all", help="All threads.")] = False,
    rate: Annotated[float, typer.Option(metavar="NUMBER", help="Maximum number per second.")] = 20.0,
    resume: Annotated[
        str | None,
        typer.Option(metavar="OPERATION", help="Resume a stopped operation.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Make the summaries and reports of threads anew. Corrections are kept. Stopped, it can be resumed.

    Use it after a new release, with another model, or when a list's roles have changed.
    """
    interrupt = Interrupt()

    async def work(clients: "Clients") -> "Audit | None":
        from shared.upkeep.resummarizing import request_resummarizing, run_resummarizing, threads_left

        if resume is not None:
            return await run_resummarizing(clients, resume, watch=_watching(interrupt))
        selection = _selection(thread, source, all_threads=all_threads, rate=rate)
        count = len(await threads_left(clients, selection, ""))
        if dry_run:
            _show_plan(count, json=json)
            return None
        confirm(f"Read {count:,} threads again?", yes=yes or thread is not None)
        audit = await request_resummarizing(clients, selection, actor(), in_background=False)
        print_note(f"operation {audit.id}")
        return await run_resummarizing(clients, audit.id, watch=_watching(interrupt))

    _end(run_command(work, interrupt=interrupt), json=json)


def _watching(interrupt: Interrupt) -> "OperationObserver":
    from shared.clients.servicebus.dead_letter_mover import OperationObserver

    return OperationObserver(stopped=interrupt.stopped)


def _selection(
    thread: str | None, source: str | None, *, all_threads: bool, rate: float
) -> "ThreadSelection":
    from pydantic import ValidationError

    from shared.upkeep.resummarizing import ThreadSelection

    try:
        return ThreadSelection(thread=thread, source=source, all=all_threads, rate=rate)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        raise CommandError(Code.USAGE, f"{where}: {said}" if where else said) from None


def _show_plan(count: int, *, json: bool) -> None:
    if json:
        print_json({"action": "resummarize", "dry_run": True, "planned": count})
    else:
        print_note(f"{count:,} threads would be read again. No changes made.")


def _end(audit: "Audit | None", *, json: bool) -> None:
    if audit is None:
        return
    if json:
        shown = {"operation": audit.id, "action": audit.action, "status": audit.status, **audit.counts}
        print_json({**shown, "outcome": audit.outcome})
    else:
        waiting = audit.counts.get("waiting", 0)
        more = f"; {waiting:,} follow when their messages are through" if waiting else ""
        print_note(f"{audit.counts.get('requested', 0):,} threads are being read again{more}.")
    if audit.status == "interrupted":
        raise CommandError(Code.INTERRUPTED, f"Stopped. Resume with: resummarize --resume {audit.id}")
