"""`timeline`: what happened to one document or event."""

from typing import Annotated

import typer

from ops.command import GLOBAL_OPTIONS, run_command
from ops.exit_codes import Code, CommandError
from ops.options import Json
from ops.output import print_json, print_note, table
from ops.settings_files import setting_values


def timeline(
    id_: Annotated[str, typer.Argument(metavar="ID", help="A document's, an event's or a trace's id.")],
    json: Json = False,
) -> None:
    """Show everything that happened to a document or an event, across stages, in the order of time."""
    from shared.upkeep.oversight.spans import span_store
    from shared.upkeep.oversight.timeline import read_timeline

    telemetry = span_store(setting_values(GLOBAL_OPTIONS.settings))
    found = run_command(lambda clients: read_timeline(clients, id_, telemetry))
    if not found.entries:
        raise CommandError(Code.FAILED, f"Nothing is known of {id_!r}.")
    if json:
        return print_json([entry.shown() for entry in found.entries])
    table(
        ["time (UTC)", "where", "what*"],
        [(f"{entry.at:%Y-%m-%d %H:%M:%S.%f}"[:-3], entry.where, entry.what[:500]) for entry in found.entries],
        empty="",
    )
    if found.without:
        print_note(f"No spans: {found.without}.")
    return None
