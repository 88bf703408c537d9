"""How it stands."""

from typing import TYPE_CHECKING, Annotated

import typer

from ops.choices import Json
from ops.ending import Code, Stop
from ops.output import ago, print_json, say, table
from ops.running import perform

if TYPE_CHECKING:
    from shared.oversight.status import QueueStatus, Status

__all__ = ["status"]


def status(
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 3 where something needs an operator.")
    ] = False,
    json: Json = False,
) -> None:
    """Show stages, queues, dead letters, documents stuck and failed, throughput, and the last operations."""
    from shared.oversight.status import read_status

    found = perform(read_status)
    if json:
        print_json(found.shown())
    else:
        _show(found)
    if check and found.troubled:
        raise Stop(Code.PROBLEMS)


def _show(found: "Status") -> None:
    done = {each.stage: each for each in found.stages}
    kept = {each.stage: each for each in found.documents}
    table(
        [
            "stage",
            "waiting>",
            "oldest>",
            "dead>",
            "oldest dead>",
            "done in 15 min>",
            "open>",
            "stuck>",
            "failed>",
        ],
        [
            (
                queue.queue,
                _count(queue, queue.waiting),
                ago(queue.oldest_waiting, found.at),
                _count(queue, queue.dead),
                ago(queue.oldest_dead, found.at),
                f"{done[queue.queue].done:,} {done[queue.queue].unit}" if queue.queue in done else "",
                f"{kept[queue.queue].open:,} {kept[queue.queue].collection}" if queue.queue in kept else "",
                f"{kept[queue.queue].stuck:,}" if queue.queue in kept else "",
                f"{kept[queue.queue].failed:,}" if queue.queue in kept else "",
            )
            for queue in found.queues
        ],
        empty="There are no queues.",
    )
    _advise(found)
    if found.operations:
        typer.echo()
        table(
            ["operation", "what", "who", "age>", "status", "counts*"],
            [
                (
                    each.id,
                    each.action,
                    each.actor,
                    ago(each.started_at, found.at),
                    each.status,
                    _counts(each.counts),
                )
                for each in found.operations
            ],
            empty="",
        )


def _advise(found: "Status") -> None:
    """What to do next, where there is something."""
    if found.sweep is None:
        say("The sweep has not run yet.")
    else:
        circuits = "".join(f"; {name} probed only: {why}" for name, why in found.sweep.circuits.items())
        say(
            f"The last sweep was {ago(found.sweep.started_at, found.at)} ago: {found.sweep.status}{circuits}."
        )
    if found.dead:
        say(f"{found.dead:,} dead letters: `dlq groups` shows their causes.")
    if any(each.stuck for each in found.documents):
        say("Documents are stuck: `documents stuck` lists them.")
    if any(each.failed for each in found.documents):
        say("Documents were given up: `documents failed` lists them.")


def _count(queue: "QueueStatus", number: int) -> str:
    return f"{number:,}{'+' if queue.at_least else ''}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
