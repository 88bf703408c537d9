"""Runs a requeue, a purge or a restore, and shows its progress."""

import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ops.command import Code, CommandError, Interrupt, actor, run_command
from ops.output import confirm, print_json, print_note, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shared.azure.connections import Clients
    from shared.azure.servicebus.dead_letter_mover import OperationObserver
    from shared.models.records import Audit
    from shared.operations.deadletters.diagnosis import DeadLetterSelection, Diagnosed

DOING = {
    "dlq.requeue": "requeue", "dlq.purge": "purge", "dlq.restore": "restore", "dlq.resolve": "purge",
}  # fmt: skip
ENDED = {
    "dlq.requeue": "requeued", "dlq.purge": "purged", "dlq.restore": "restored", "dlq.resolve": "resolved",
}  # fmt: skip


def carry_out(
    action: str,
    select: "Callable[[], DeadLetterSelection]",
    *,
    rate: float,
    dry_run: bool,
    yes: bool,
    resume: str | None,
    json: bool,
) -> None:
    """Run the action on the selected dead letters, or resume an operation with its stored selection."""
    interrupt, selection = Interrupt(), None if resume is not None else select()

    async def work(clients: "Clients") -> "Audit | None":
        from shared.operations.deadletters.diagnosis import choose
        from shared.operations.deadletters.operations import request_operation

        if resume is not None:
            return await run_shown(clients, await _resumable(clients, resume, action), interrupt)
        assert selection is not None  # noqa: S101 - one of the two is given
        chosen = await choose(clients, selection)
        _announce(action, chosen, dry_run=dry_run, json=json)
        if dry_run or not chosen:
            return None
        confirm(f"{DOING[action].capitalize()} {len(chosen):,} dead letters?", yes=yes)
        asked = selection.shown()
        audit = await request_operation(clients, action, asked, actor(), rate=rate or None)
        return await run_shown(clients, audit, interrupt)

    end(run_command(work, interrupt=interrupt, changes=True), json=json)


def restore_purged(
    purge: str, sequence: list[int], limit: int | None, *, rate: float, dry_run: bool, yes: bool, json: bool
) -> None:
    interrupt, action = Interrupt(), "dlq.restore"
    asked: dict[str, Any] = {"purge": purge}
    asked |= {name: value for name, value in (("sequence_numbers", sequence), ("limit", limit)) if value}

    async def work(clients: "Clients") -> "Audit | None":
        from shared.operations.deadletters.journal import restorable
        from shared.operations.deadletters.operations import request_operation

        found = await restorable(clients, purge, sequence_numbers=sequence, limit=limit)
        counted = Counter(record["queue"] for record in found)
        if dry_run:
            _print_plan(action, [(queue, "", count, "") for queue, count in counted.items()], json=json)
        elif not found:
            _print_plan(action, [], json=json)
        if dry_run or not found:
            return None
        confirm(f"Restore {len(found):,} dead letters of {purge}?", yes=yes)
        audit = await request_operation(clients, action, asked, actor(), rate=rate or None)
        return await run_shown(clients, audit, interrupt)

    end(run_command(work, interrupt=interrupt, changes=True), json=json)


async def _resumable(clients: "Clients", operation: str, action: str) -> "Audit":
    from shared.operations.audit import find_audit

    audit = await find_audit(clients.store, operation)
    if DOING.get(audit.action) != DOING[action]:
        raise CommandError(Code.USAGE, f"{operation} is a {audit.action}, not a {action}.")
    return audit


async def run_shown(clients: "Clients", audit: "Audit", interrupt: Interrupt) -> "Audit":
    from shared.operations.deadletters.operations import run_operation

    print_note(f"operation {audit.id}")
    with _watching(audit, interrupt) as watch:
        return await run_operation(clients, audit.id, watch=watch)


@contextmanager
def _watching(audit: "Audit", interrupt: Interrupt) -> "Iterator[OperationObserver]":
    """Show a progress bar on a terminal, otherwise a line if the operation has to wait."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from shared.azure.servicebus.dead_letter_mover import OperationObserver

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    printed = set[str]()

    def print_once(note: str) -> None:
        if note not in printed:
            print_note(note)
        printed.add(note)

    with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task(ENDED[audit.action], total=None)

        def planned(total: int) -> None:
            progress.update(bar, total=total)

        def done(count: int) -> None:
            progress.update(bar, completed=count)

        def waiting(left: int) -> None:
            print_once(
                f"{left:,} are locked by another receiver. Waiting for their locks to expire (Ctrl-C stops)"
            )

        yield OperationObserver(progress=done, planned=planned, waiting=waiting, stopped=interrupt.stopped)


def _announce(action: str, chosen: "list[Diagnosed]", *, dry_run: bool, json: bool) -> None:
    counted = Counter((diagnosed.dead_letter.queue, diagnosed.group) for diagnosed in chosen)
    errors = {
        diagnosed.group: diagnosed.cause.error for diagnosed in reversed(chosen)
    }  # the error of the oldest
    rows = [(queue, group, count, errors[group]) for (queue, group), count in counted.most_common()]
    if dry_run or not chosen:
        _print_plan(action, rows, json=json)
    elif not json:
        _plan_table(rows)


def _print_plan(action: str, rows: list[tuple[str, str, int, str]], *, json: bool) -> None:
    total = sum(count for _, _, count, _ in rows)
    if json:
        groups = [
            {"queue": queue, "group": group or None, "count": count, "error": error or None}
            for queue, group, count, error in rows
        ]
        print_json({"action": action, "dry_run": True, "planned": total, "groups": groups})
        return
    _plan_table(rows)
    if total:
        print_note(f"{total:,} would be {ENDED[action]}. No changes made.")


def _plan_table(rows: list[tuple[str, str, int, str]]) -> None:
    cells = [(queue, group, f"{count:,}", error[:160]) for queue, group, count, error in rows]
    table(["queue", "group", "count>", "error*"], cells, empty="No matching dead letters.")


def end(audit: "Audit | None", *, json: bool) -> None:
    if audit is None:
        return
    word = ENDED[audit.action]
    if json:
        print_json(
            {"operation": audit.id, "action": audit.action, "status": audit.status, **audit.counts,
             "outcome": audit.outcome}
        )  # fmt: skip
    else:
        more = f" ({audit.outcome})" if audit.outcome else ""
        undo = f" Undo with `dlq restore {audit.id}`." if word in {"purged", "resolved"} else ""
        print_note(f"{audit.counts.get(word, 0):,} of {audit.counts.get('planned', 0):,} {word}{more}.{undo}")
    if audit.status == "interrupted":
        name = DOING[audit.action]
        again = f"dlq {name} --resume {audit.id}" if name != "restore" else "the same command"
        raise CommandError(Code.INTERRUPTED, f"Stopped. Resume with: {again}")
    if audit.status != "succeeded":
        raise CommandError(Code.PROBLEMS)
