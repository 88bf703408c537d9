"""`dlq`: list dead letters, group them by cause, requeue, purge and restore them."""

from collections.abc import Callable
from json import dumps, loads
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import Code, CommandError, DryRun, Json, Limit, Yes, moment, run_command, shared_options
from ops.dlq_operations import carry_out, restore_purged
from ops.output import ago, clean, fields, print_json, print_note, print_rows, shortened, write_export

if TYPE_CHECKING:
    from shared.operations.deadletters.diagnosis import DeadLetterSelection, Diagnosed


app = typer.Typer(help="Dead letters: list, requeue, purge and restore them.", no_args_is_help=True)

Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="A stage's queue: parsing, or parsing.failed.")]
Queues = Annotated[
    list[str] | None,
    typer.Argument(metavar="[QUEUE]...", help="Queues, such as parsing or parsing.failed (default: all)."),
]
Groups = Annotated[
    list[str] | None, typer.Option("--group", metavar="ID", help="A group's id, from `dlq list --groups`.")
]
Sequences = Annotated[
    list[int] | None, typer.Option("--sequence", metavar="NUMBER", help="A sequence number, from `dlq list`.")
]
EventTypes = Annotated[
    list[str] | None, typer.Option("--event-type", metavar="TYPE", help="Such as ArchiveIngested.")
]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Enqueued at this time or later.")]
Before = Annotated[str | None, typer.Option(metavar="TIME", help="Enqueued before this time.")]
All = Annotated[bool, typer.Option("--all", help="Everything in all queues.")]
AtMost = Annotated[int | None, typer.Option("--limit", metavar="COUNT", min=1, help="Maximum number.")]
Rate = Annotated[float, typer.Option(metavar="RATE", min=0, help="Messages per second (0: no limit).")]
Resume = Annotated[str | None, typer.Option(metavar="OPERATION", help="Resume this operation.")]
Select = Callable[[], "DeadLetterSelection"]
DEFAULT_RATE = 100.0
SHOWN_BODY = 4000
SHOWN_ERROR = 160


@app.command("list")
def list_(
    queues: Queues = None,
    groups: Annotated[bool, typer.Option("--groups", help="Group them by stage, reason and error.")] = False,
    group: Groups = None,
    event_type: EventTypes = None,
    limit: Limit = 50,
    json: Json = False,
) -> None:
    """List dead letters with their causes, oldest first.

    With --groups, list groups of one cause, the largest first.
    """
    if groups:
        if group or event_type:
            raise CommandError(Code.USAGE, "--groups lists the groups of whole queues.")
        return _list_groups(queues, json=json)
    chosen = _chosen(queues, group=group, event_type=event_type)
    print_rows(
        chosen[:limit],
        ["queue", "number>", "age>", "tries>", "event", "group", "error*"],
        lambda diagnosed: (
            diagnosed.dead_letter.queue, diagnosed.dead_letter.sequence_number,
            ago(diagnosed.dead_letter.enqueued_at),
            diagnosed.dead_letter.delivery_count, diagnosed.dead_letter.subject or "-", diagnosed.group,
            shortened(diagnosed.cause.error, SHOWN_ERROR),
        ),
        empty="There are no dead letters.",
        shown=_row if json else None,
    )  # fmt: skip
    if len(chosen) > limit and not json:
        print_note(f"{limit} of {len(chosen)}: --limit shows more.")
    return None


def _list_groups(queues: list[str] | None, *, json: bool) -> None:
    from shared.operations.deadletters.diagnosis import Group, diagnosed_dead_letters, group_dead_letters

    named = _named(queues)
    found = group_dead_letters(
        run_command(lambda clients: diagnosed_dead_letters(clients, named, judged=True))
    )
    print_rows(
        found,
        ["group", "queue", "count>", "first>", "last>", "example>", "reason and error*"],
        lambda group: (
            group.id, group.queue, f"{group.count:,}", ago(group.first_seen), ago(group.last_seen),
            group.example, f"{group.reason}: {shortened(group.error, SHOWN_ERROR)}",
        ),
        empty="There are no dead letters.",
        shown=Group.shown if json else None,
    )  # fmt: skip
    if json:
        return
    if found:
        total = sum(group.count for group in found)
        print_note(f"{total:,} dead letters. `dlq requeue --group ID` requeues a group.")
    if done := sum(group.satisfied for group in found):
        print_note(f"{done:,} are already satisfied. Remove them with `dlq purge --all --satisfied`.")
    return


@app.command()
def show(
    queue: Queue,
    sequence: Annotated[
        list[int] | None, typer.Argument(metavar="[NUMBER]...", help="Sequence numbers.")
    ] = None,
    group: Groups = None,
    event_type: EventTypes = None,
    limit: AtMost = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Export all chosen to a file (-: standard output)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show or export dead letters: cause, properties and body.

    Without a selection, the oldest dead letter is shown.

    An export contains everything that is needed to send the messages again, as JSON lines or, for a file
    name in .json, as a JSON array. The queue does not change.
    """
    chosen = _chosen([queue], group=group, sequence=sequence, event_type=event_type)
    missing = set(sequence or []) - {diagnosed.dead_letter.sequence_number for diagnosed in chosen}
    if missing and not (group or event_type):
        raise CommandError(Code.FAILED, f"{queue} has no dead letter {min(missing)}.")
    shown = chosen[: limit if limit or sequence or output else 1]
    records = [{**_row(diagnosed), **diagnosed.dead_letter.record()} for diagnosed in shown]
    if output is not None:
        write_export(output, records)
        if output != "-" and json:
            print_json({"file": output, "exported": len(records)})
        elif output != "-":
            print_note(f"{len(records):,} dead letters written to {output}.")
        return None
    if json:
        return print_json(records)
    if not shown:
        print_note("There are no dead letters.")
    for position, diagnosed in enumerate(shown):
        if position:
            typer.echo()
        _show(diagnosed)
    return None


def _selection(
    queues: Queues = None,
    group: Groups = None,
    sequence: Sequences = None,
    event_type: EventTypes = None,
    since: Since = None,
    before: Before = None,
    everything: All = False,
    limit: AtMost = None,
) -> "DeadLetterSelection":
    if not (queues or group or everything):
        raise CommandError(Code.USAGE, "Give a queue, a --group or --all.")
    if sequence and len(queues or []) != 1:
        raise CommandError(Code.USAGE, "Sequence numbers belong to one queue. Give its name.")
    times = {"since": moment(since, "--since"), "before": moment(before, "--before")}
    return _conditions(queues, group, sequence, event_type, **times, limit=limit)


def _conditions(
    queues: list[str] | None,
    group: list[str] | None = None,
    sequence: list[int] | None = None,
    event_type: list[str] | None = None,
    **more: Any,
) -> "DeadLetterSelection":
    from shared.operations.deadletters.diagnosis import DeadLetterSelection

    return DeadLetterSelection(
        queues=_named(queues),
        groups=group or [],
        sequence_numbers=sequence or [],
        event_types=event_type or [],
        **more,
    )


@app.command()
@shared_options(select=_selection)
def requeue(
    select: Select,
    *,
    rate: Rate = DEFAULT_RATE,
    dry_run: DryRun = False,
    yes: Yes = False,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Send dead letters to their stage again.

    A message is removed after it was sent again under a new id. Ctrl-C stops after the current batch.
    Use --resume to continue.
    """
    carry_out("dlq.requeue", select, rate=rate, dry_run=dry_run, yes=yes, resume=resume, json=json)


@app.command()
@shared_options(select=_selection)
def purge(
    select: Select,
    *,
    satisfied: Annotated[
        bool, typer.Option("--satisfied", help="Only messages whose work is already done.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    resume: Resume = None,
    json: Json = False,
) -> None:
    """Remove dead letters from their queue. `dlq restore` undoes it.

    The messages are archived first. The sweep purges messages whose work is already done.
    """

    def chosen() -> "DeadLetterSelection":
        return select().model_copy(update={"satisfied": satisfied})

    action = "dlq.resolve" if satisfied else "dlq.purge"
    carry_out(action, chosen, rate=0, dry_run=dry_run, yes=yes, resume=resume, json=json)


@app.command()
def restore(
    purge: Annotated[str, typer.Argument(metavar="OPERATION", help="The purge's id, from `audit`.")],
    sequence: Sequences = None,
    limit: AtMost = None,
    rate: Rate = DEFAULT_RATE,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Undo a purge: send its messages to their stage again.

    Messages that still fail return to the dead letters. Nothing is restored twice. If interrupted, run the
    same command again.
    """
    restore_purged(purge, sequence or [], limit, rate=rate, dry_run=dry_run, yes=yes, json=json)


def _named(queues: list[str] | None) -> list[str]:
    from shared.operations.deadletters.diagnosis import UnknownQueueError, queue_named
    from shared.pipeline.topology import QUEUES

    try:
        return list(dict.fromkeys(queue_named(queue) for queue in queues or QUEUES))
    except UnknownQueueError as error:
        raise CommandError(Code.USAGE, str(error)) from None


def _chosen(queues: list[str] | None, **conditions: Any) -> "list[Diagnosed]":
    from shared.operations.deadletters.diagnosis import choose

    selection = _conditions(queues, **conditions)
    return run_command(lambda clients: choose(clients, selection))


def _row(diagnosed: "Diagnosed") -> dict[str, Any]:
    dead_letter, cause = diagnosed.dead_letter, diagnosed.cause
    return {
        "queue": dead_letter.queue,
        "sequence_number": dead_letter.sequence_number,
        "message_id": dead_letter.message_id,
        "event_type": dead_letter.subject or None,
        "enqueued_at": dead_letter.enqueued_at.isoformat(),
        "delivery_count": dead_letter.delivery_count,
        "group": diagnosed.group,
        "reason": cause.reason,
        "error_type": cause.error_type or None,
        "error": cause.error,
        "error_hash": cause.error_hash,
        "failed_at": cause.seen_at.isoformat(),
        "failure": cause.failure_id,
        "trace_id": cause.trace_id,
    }


def _show(diagnosed: "Diagnosed") -> None:
    row = _row(diagnosed)
    properties = {
        name: value for name, value in diagnosed.dead_letter.properties.items() if name[:10] != "DeadLetter"
    }
    fields(
        [
            *((name.replace("_", " "), value) for name, value in row.items() if value is not None),
            ("properties", "\n".join(f"{name} = {value}" for name, value in properties.items())),
            ("body", _body(diagnosed.dead_letter.copy.data())),
        ]
    )


def _body(data: bytes) -> str:
    try:
        text = dumps(loads(data), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = clean(data.decode("utf-8", "replace"))
    more = len(text) - SHOWN_BODY
    return text if more <= 0 else f"{text[:SHOWN_BODY]}\n... and {more:,} characters more (--json has all)"
