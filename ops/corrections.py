"""`correction`, `thread` and `people`: decisions of operators."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import Code, CommandError, Json, actor, checked_input, run_command
from ops.output import answer, print_json, print_note, print_rows, table

if TYPE_CHECKING:
    from shared.azure.connections import Clients
    from shared.models.edits import Correction, Placement
    from shared.models.sources import Source
    from shared.operations.correcting import CorrectionAsked


app = typer.Typer(help="Corrections of threads.", no_args_is_help=True)
threads = typer.Typer(help="Placements of messages by operators.", no_args_is_help=True)
ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, kept in the history.")]
Etag = Annotated[
    str | None, typer.Option(metavar="ETAG", help="The ETag of the correction to replace or revoke.")
]


@app.command("list")
def list_corrections(
    thread: Annotated[str | None, typer.Argument(metavar="[THREAD]", help="The thread's id.")] = None,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Print all corrected threads as JSON for `make evaluate LABELS=`."),
    ] = False,
    json: Json = False,
) -> None:
    """List the corrections of a thread, also revoked ones.

    With --labels, print all corrected threads as labels.
    """
    if (thread is None) is not labels:
        raise CommandError(Code.USAGE, "Give a thread, or --labels for all corrected threads.")
    from shared.operations.correcting import correction_labels, corrections_of_thread

    if thread is None:

        async def all_labels(clients: "Clients") -> list[dict[str, Any]]:
            return [label async for label in correction_labels(clients)]

        return print_json(run_command(all_labels))
    return print_rows(
        run_command(lambda clients: corrections_of_thread(clients, thread)),
        ["id", "kind", "value", "message", "by", "at", "reason*"],
        lambda correction: (
            correction.id, correction.kind, _value(correction), correction.message_id, correction.last.by,
            f"{correction.last.at:%F %R}", correction.last.reason,
        ),
        empty="This thread has no corrections.",
        shown=_shown if json else None,
    )  # fmt: skip


@app.command("make")
def make_correction(
    thread: ThreadId,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="position, outcome, genre or hidden.")],
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="A stance (or none), an outcome or a genre.")
    ] = None,
    *,
    reason: Why,
    message: Annotated[str | None, typer.Option(metavar="MESSAGE-ID", help="The message.")] = None,
    quote: Annotated[
        str, typer.Option(metavar="TEXT", help="The evidence sentence, or the sentence to hide.")
    ] = "",
    sentence: Annotated[str, typer.Option(metavar="TEXT", help="The outcome in at most 25 words.")] = "",
    etag: Etag = None,
    json: Json = False,
) -> None:
    """Correct a position, an outcome or a genre, or hide a sentence."""
    from shared.operations.correcting import correct

    asked = _asked(kind, value, message_id=message, quote=quote, sentence=sentence, reason=reason)
    _print_correction(
        run_command(lambda clients: correct(clients, thread, asked, actor(), etag=etag)), json=json
    )


@app.command("revoke")
def revoke_correction(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The correction's id.")],
    *,
    reason: Why,
    etag: Etag = None,
    json: Json = False,
) -> None:
    """Revoke a correction. Its history is kept."""

    async def work(clients: "Clients") -> "Correction":
        from shared.azure.cosmos.session import Session
        from shared.operations.correcting import find_correction, revoke

        seen = etag or (await find_correction(clients, id_, Session())).etag
        return await revoke(clients, id_, reason, actor(), etag=seen)

    _print_correction(run_command(work), json=json)


@threads.command("move")
def move_message(
    thread: ThreadId,
    message: Annotated[
        str, typer.Argument(metavar="MESSAGE-ID", help="A message of the thread. Its replies move with it.")
    ],
    *,
    to: Annotated[str | None, typer.Option(metavar="THREAD", help="Move it to this thread.")] = None,
    under: Annotated[
        str | None, typer.Option(metavar="MESSAGE-ID", help="Attach it to the message that it replies to.")
    ] = None,
    split: Annotated[bool, typer.Option("--split", help="Start a new thread with it.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo: thread it by its headers again.")] = False,
    reason: Why,
    json: Json = False,
) -> None:
    """Place a message in another thread of its list. Its history is kept."""
    if sum((to is not None, under is not None, split, undo)) != 1:
        raise CommandError(Code.USAGE, "Give one of --to, --under, --split and --undo.")

    async def work(clients: "Clients") -> "Placement":
        from shared.operations.placing import (
            PlacementAsked,
            place_message,
            placements_of_thread,
            undo_placement,
        )

        if undo:
            placed = await placements_of_thread(clients, thread)
            ids = [placement.id for placement in placed if placement.message_id == message]
            if not ids:
                raise CommandError(Code.FAILED, "There is no placement of this message in the thread.")
            return await undo_placement(clients, ids[0], reason, actor())
        with checked_input():
            asked = PlacementAsked(message_id=message, reason=reason, to_thread=to, parent_id=under)
        return await place_message(clients, thread, asked, actor())

    placement = run_command(work)
    if json:
        return print_json(_placement_shown(placement))
    typer.echo(placement.id)
    print_note("The threads, their summaries and reports are being updated.")
    return None


@threads.command("history")
def show_history(thread: ThreadId, json: Json = False) -> None:
    """List the placements of a thread, also undone ones."""
    from shared.operations.placing import placements_of_thread

    found = run_command(lambda clients: placements_of_thread(clients, thread))
    if json:
        return print_json([_placement_shown(placement) for placement in found])
    table(
        ["id", "act", "message", "from thread", "under", "by", "at", "reason*"],
        [
            (placement.id, entry.act, placement.message_id, entry.thread_id, entry.parent, entry.by,
             f"{entry.at:%F %R}", entry.reason)
            for placement in found
            for entry in placement.entries
        ],
        empty="This thread has no placements.",
    )  # fmt: skip
    return None


def people(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The source's name.")],
    addresses: Annotated[
        list[str] | None, typer.Argument(metavar="[ADDRESS]...", help="Two or more addresses.")
    ] = None,
    *,
    is_one_person: Annotated[
        bool | None, typer.Option("--same/--different", help="Whether the addresses belong to one person.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The reason, kept in the history.")
    ] = None,
    json: Json = False,
) -> None:
    """List or resolve names that several addresses use."""
    if is_one_person is None:
        if addresses:
            raise CommandError(Code.USAGE, "Give --same or --different with addresses.")
        return _show_open_names(source, json=json)
    if not reason:
        raise CommandError(Code.USAGE, "Give a --reason for the decision.")

    async def work(clients: "Clients") -> "Source":
        from shared.operations.deciding_people import PeopleDecision, decide

        with checked_input():
            asked = PeopleDecision(addresses=addresses or [], is_one_person=is_one_person, reason=reason)
            return await decide(clients, source, asked, actor())

    changed = run_command(work)
    decided = {key: changed.settings.get(key, []) for key in ("aliases", "namesakes")}
    note = f"Decided. It applies to new summaries. `resummarize --source {source}` updates all."
    return answer(decided, note, json=json)


def _show_open_names(source: str, *, json: bool) -> None:
    from shared.operations.deciding_people import proposals

    print_rows(
        run_command(lambda clients: proposals(clients, source)),
        ["name", "addresses*"],
        lambda shared: (shared.name, " ".join(shared.addresses)),
        empty="No undecided names: each has one address or a decision.",
        shown=(lambda shared: shared._asdict()) if json else None,
    )


def _asked(kind: str, value: str | None, **fields: str | None) -> "CorrectionAsked":
    from shared.operations.correcting import OWN_FIELD, CorrectionAsked

    own = {OWN_FIELD[kind]: value} if kind in OWN_FIELD else {}
    with checked_input():
        return CorrectionAsked.model_validate({"kind": kind, **own, **fields})


def _shown(correction: "Correction") -> dict[str, Any]:
    return {**correction.model_dump(mode="json", exclude={"etag"}), "etag": correction.etag}


def _placement_shown(placement: "Placement") -> dict[str, Any]:
    return placement.model_dump(mode="json", exclude={"etag"})


def _value(correction: "Correction") -> str:
    value = correction.value
    text = value.stance or value.outcome or value.genre or ("none" if correction.kind == "position" else "")
    return f"{text} (revoked)" if correction.revoked else str(text)


def _print_correction(correction: "Correction", *, json: bool) -> None:
    if json:
        return print_json(_shown(correction))
    typer.echo(correction.id)
    print_note(
        "Revoked."
        if correction.revoked
        else "Corrected. The summary and report of the thread are being updated."
    )
    return None
