"""What happened to one document or event."""

from typing import Annotated

import typer

from ops.command import CHOSEN, perform
from ops.exit_codes import Code, Stop
from ops.options import Json
from ops.output import print_json, say, table
from ops.settings_files import setting_values

__all__ = ["timeline"]


def timeline(
    id_: Annotated[str, typer.Argument(metavar="ID", help="A document's, an event's or a trace's id.")],
    json: Json = False,
) -> None:
    """Show everything that happened to a document or an event, across stages, in the order of time."""
    from shared.upkeep.oversight.spans import receiver_address
    from shared.upkeep.oversight.timeline import read_timeline

    telemetry = receiver_address(setting_values(CHOSEN.settings).get("APPLICATIONINSIGHTS_CONNECTION_STRING"))
    found = perform(lambda clients: read_timeline(clients, id_, telemetry))
    if not found.happenings:
        raise Stop(Code.FAILED, f"Nothing is known of {id_!r}.")
    if json:
        return print_json([each.shown() for each in found.happenings])
    table(
        ["time (UTC)", "where", "what*"],
        [(f"{each.at:%Y-%m-%d %H:%M:%S.%f}"[:-3], each.where, each.what[:500]) for each in found.happenings],
        empty="",
    )
    if found.without:
        say(f"No spans: {found.without}.")
    return None
