"""`status`: queues, documents, throughput and the last operations."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.command import run_command
from ops.exit_codes import Code, CommandError
from ops.options import Json
from ops.output import ago, alarming, print_json, print_note, shortened, table

if TYPE_CHECKING:
    from shared.upkeep.oversight.system_status import QueueStatus, SystemStatus

LONGEST_NAME = 20


def status(
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 if an operator is needed.")] = False,
    json: Json = False,
) -> None:
    """Show stages, queues, dead letters, documents stuck and failed, throughput, and the last operations."""
    from shared.upkeep.oversight.status import read_status

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
            (
                queue.queue,
                _count(queue, queue.waiting),
                ago(queue.oldest_waiting, found.at),
                alarming(queue.dead, _count(queue, queue.dead)),
                ago(queue.oldest_dead, found.at),
                done.get(queue.queue, ""),
            )
            for queue in found.queues
        ],
        empty="There are no queues.",
    )


def _show_documents(found: "SystemStatus") -> None:
    table(
        ["documents", "of stage", "open>", "backing off>", "stuck>", "failed>"],
        [
            (
                documents.collection,
                documents.stage,
                f"{documents.open:,}",
                f"{documents.backing_off:,}",
                alarming(documents.stuck, f"{documents.stuck:,}"),
                alarming(documents.failed, f"{documents.failed:,}"),
            )
            for documents in found.documents
        ],
        empty="There are no documents.",
    )


def _show_operations(found: "SystemStatus") -> None:
    table(
        ["operation", "what", "who", "age>", "status", "counts*"],
        [
            (
                audit.id,
                audit.action,
                shortened(audit.actor, LONGEST_NAME),
                ago(audit.started_at, found.at),
                audit.status,
                "; ".join(filter(None, (_counts(audit.counts), shortened(audit.outcome or "", 120)))),
            )
            for audit in found.operations
        ],
        empty="",
    )


def _advise(found: "SystemStatus") -> None:
    """Suggest the next command, if something needs attention."""
    if found.sweep is not None:
        print_note(f"The last sweep was {ago(found.sweep.started_at, found.at)} ago: {found.sweep.status}.")
    for trouble in found.troubles:
        print_note(trouble.says)
    for part, why in found.unanswered.items():
        print_note(f"No answer from the {part}. {why}")
    if not found.troubled and not found.partial:
        print_note("Everything is running: no dead letters, nothing stuck or failed.")


def _count(queue: "QueueStatus", number: int) -> str:
    return f"{number:,}{'+' if queue.at_least else ''}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
