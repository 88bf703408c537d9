"""`status`, `audit` and `timeline`: the state of the system, operations, and one document."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import GLOBAL_OPTIONS, Code, CommandError, Json, Limit, run_command, setting_values
from ops.output import ago, alarming, fields, print_json, print_note, print_rows, shortened, table

if TYPE_CHECKING:
    from shared.operations.oversight.status import QueueStatus, SystemStatus

LONGEST_NAME = 20


def status(
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 if an operator is needed.")] = False,
    json: Json = False,
) -> None:
    """Show queues, dead letters, stuck and failed documents."""
    from shared.operations.oversight.status import read_status

    found = run_command(read_status)
    if json:
        print_json(found.shown())
    else:
        _show(found)
    if check and (found.troubled or found.partial):
        raise CommandError(Code.PROBLEMS)


def _show(found: "SystemStatus") -> None:
    _show_queues(found)
    typer.echo()
    _show_documents(found)
    if found.operations:
        typer.echo()
        _show_operations(found)
    _advise(found)


def _show_queues(found: "SystemStatus") -> None:
    done = {stage.stage: f"{stage.done:,} {stage.unit}" for stage in found.stages}
    table(
        ["queue", "waiting>", "oldest>", "dead>", "oldest dead>", "done in 15 min>"],
        [
            (queue.queue, _count(queue, queue.waiting), ago(queue.oldest_waiting, found.at),
             alarming(queue.dead, _count(queue, queue.dead)), ago(queue.oldest_dead, found.at),
             done.get(queue.queue, ""))
            for queue in found.queues
        ],
        empty="There are no queues.",
    )  # fmt: skip


def _show_documents(found: "SystemStatus") -> None:
    table(
        ["documents", "of stage", "open>", "backing off>", "stuck>", "failed>"],
        [
            (counts.collection, counts.stage, f"{counts.open:,}", f"{counts.backing_off:,}",
             alarming(counts.stuck, f"{counts.stuck:,}"), alarming(counts.failed, f"{counts.failed:,}"))
            for counts in found.documents
        ],
        empty="There are no documents.",
    )  # fmt: skip


def _show_operations(found: "SystemStatus") -> None:
    table(
        ["operation", "what", "who", "age>", "status", "counts*"],
        [
            (done.id, done.action, shortened(done.actor, LONGEST_NAME), ago(done.started_at, found.at),
             done.status,
             "; ".join(filter(None, (_counts(done.counts), shortened(done.outcome or "", 120)))))
            for done in found.operations
        ],
        empty="",
    )  # fmt: skip


def _advise(found: "SystemStatus") -> None:
    """Print problems and commands that help."""
    if found.sweep is not None:
        print_note(f"The last sweep was {ago(found.sweep.started_at, found.at)} ago: {found.sweep.status}.")
    for problem in found.troubles:
        print_note(problem.says)
    for why, parts in found.unknown.items():
        print_note(f"Not known: {', '.join(parts)}. {why}")
    if not found.troubled and not found.partial:
        print_note("Everything is running: no dead letters, nothing stuck or failed.")


def _count(queue: "QueueStatus", number: int) -> str:
    return f"{number:,}{'+' if queue.at_least else ''}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)


def audit(
    operation: Annotated[str | None, typer.Argument(metavar="[OPERATION]", help="An operation's id.")] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List operations, newest first, or show one."""
    from shared.operations.audit import find_audit, last_audits

    if operation is not None:
        stored = run_command(lambda clients: find_audit(clients.store, operation)).model_dump(
            mode="json", exclude={"etag"}
        )
        unused = {"schema_version", "created_at", "attemptCount", "lastAttemptTime", "lastError", "day"}
        shown = {name: value for name, value in stored.items() if name not in unused and value is not None}
        return print_json(shown) if json else fields(shown.items())
    return print_rows(
        run_command(lambda clients: last_audits(clients.store, limit)),
        ["operation", "started", "what", "who", "status", "counts*"],
        lambda done: (
            done.id, f"{done.started_at:%Y-%m-%d %H:%M}", done.action, done.actor, done.status,
            _counts(done.counts),
        ),
        empty="No operations.",
        shown=(lambda done: done.model_dump(mode="json", exclude={"etag"})) if json else None,
    )  # fmt: skip


def timeline(
    id_: Annotated[str, typer.Argument(metavar="ID", help="A document's, an event's or a trace's id.")],
    json: Json = False,
) -> None:
    """Show the events of a document in all stages, oldest first."""
    from shared.azure.telemetry.spans import span_store
    from shared.operations.oversight.timeline import read_timeline

    telemetry = span_store(setting_values(GLOBAL_OPTIONS.settings))
    entries, without_spans = run_command(lambda clients: read_timeline(clients, id_, telemetry))
    if not entries:
        raise CommandError(Code.FAILED, f"No record of {id_!r}.")
    print_rows(
        entries,
        ["time (UTC)", "where", "what*"],
        lambda entry: (f"{entry.at:%Y-%m-%d %H:%M:%S.%f}"[:-3], entry.where, entry.what[:500]),
        empty="",
        shown=(lambda entry: entry.shown()) if json else None,
    )
    if without_spans and not json:
        print_note(f"No spans: {without_spans}.")
