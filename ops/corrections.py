"""Corrections: list those of a thread, make one, revoke one, export them as labels."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ops.command import actor, run_command
from ops.exit_codes import wrong_usage
from ops.options import Json
from ops.output import print_json, print_note, table

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.documents.edits import Correction
    from shared.upkeep.correcting import CorrectionAsked

app = typer.Typer(help="Corrections of threads.", no_args_is_help=True)
ThreadId = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.", show_default=False)]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, kept in the history.")]
Etag = Annotated[
    str | None,
    typer.Option(metavar="ETAG", help="The ETag of the correction to replace or revoke.", show_default=False),
]


@app.command("list")
def list_corrections(thread: ThreadId, json: Json = False) -> None:
    """Show the corrections of a thread, revoked ones too."""

    async def work(clients: "Clients") -> "list[Correction]":
        from shared.upkeep.correcting import corrections_of_thread

        return await corrections_of_thread(clients, thread)

    found = run_command(work)
    if json:
        return print_json([_shown(correction) for correction in found])
    table(
        ["id", "kind", "value", "message", "by", "at", "reason*"],
        [
            (correction.id, correction.kind, _value(correction), correction.message_id, correction.last.by,
             f"{correction.last.at:%F %R}",
             correction.last.reason)
            for correction in found
        ],
        empty="This thread has no corrections.",
    )  # fmt: skip
    return None


@app.command("make")
def make_correction(
    thread: ThreadId,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="position, outcome, genre or hidden.")],
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="[VALUE]", help="A stance (or none), an outcome or a genre.", show_default=False
        ),
    ] = None,
    *,
    reason: Why,
    message: Annotated[
        str | None, typer.Option(metavar="MESSAGE-ID", help="The message.", show_default=False)
    ] = None,
    quote: Annotated[
        str, typer.Option(metavar="TEXT", help="The evidence sentence, or the sentence to hide.")
    ] = "",
    sentence: Annotated[str, typer.Option(metavar="TEXT", help="The outcome in at most 25 words.")] = "",
    etag: Etag = None,
    json: Json = False,
) -> None:
    """Correct a position, the outcome or the genre of a thread, or hide a sentence."""

    async def work(clients: "Clients") -> "Correction":
        from shared.upkeep.correcting import correct

        asked = _asked(kind, value, message_id=message, quote=quote, sentence=sentence, reason=reason)
        return await correct(clients, thread, asked, actor(), etag=etag)

    _tell(run_command(work), json=json)


@app.command("revoke")
def revoke_correction(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The correction's id.", show_default=False)],
    *,
    reason: Why,
    etag: Etag = None,
    json: Json = False,
) -> None:
    """Take a correction back; the record of it stays."""

    async def work(clients: "Clients") -> "Correction":
        from shared.clients.cosmos.session import Session
        from shared.upkeep.correcting import find_correction, revoke

        seen = etag or (await find_correction(clients, id_, Session())).etag
        return await revoke(clients, id_, reason, actor(), etag=seen)

    _tell(run_command(work), json=json)


@app.command("export")
def export_corrections(json: Json = False) -> None:  # noqa: ARG001 - it knows no other form
    """Print the threads that people corrected as labels: JSON that `make evaluate LABELS=` reads."""

    async def work(clients: "Clients") -> list[dict[str, Any]]:
        from shared.upkeep.correction_labels import correction_labels

        return [label async for label in correction_labels(clients)]

    print_json(run_command(work))


def _asked(kind: str, value: str | None, **fields: str | None) -> "CorrectionAsked":
    from pydantic import ValidationError

    from shared.upkeep.correcting import OWN_FIELD, CorrectionAsked

    own = {OWN_FIELD[kind]: value} if kind in OWN_FIELD else {}
    try:
        return CorrectionAsked.model_validate({"kind": kind, **own, **fields})
    except ValidationError as error:
        raise wrong_usage(error) from None


def _shown(correction: "Correction") -> dict[str, Any]:
    return {**correction.model_dump(mode="json", exclude={"etag"}), "etag": correction.etag}


def _value(correction: "Correction") -> str:
    value = correction.value
    said = value.stance or value.outcome or value.genre or ("none" if correction.kind == "position" else "")
    return f"{said} (revoked)" if correction.revoked else str(said)


def _tell(correction: "Correction", *, json: bool) -> None:
    if json:
        return print_json(_shown(correction))
    typer.echo(correction.id)
    print_note(
        "Revoked."
        if correction.revoked
        else "Corrected. The summary and report of the thread are being updated."
    )
    return None
