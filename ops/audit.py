"""What operators did."""

from typing import Annotated

import typer

from ops.command import run_command
from ops.options import Json, Limit
from ops.output import fields, print_json, table

__all__ = ["audit"]


def audit(
    operation: Annotated[
        str | None, typer.Argument(metavar="[OPERATION]", help="An operation's id.", show_default=False)
    ] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List what operators did, the last first; or show one operation."""
    from shared.upkeep.audit import find_audit, last_audits

    if operation is not None:
        one = run_command(lambda clients: find_audit(clients.store, operation)).model_dump(
            mode="json", exclude={"etag"}
        )
        unused = {"schema_version", "created_at", "attemptCount", "lastAttemptTime", "lastError", "day"}
        shown = {name: value for name, value in one.items() if name not in unused and value is not None}
        return print_json(shown) if json else fields(shown.items())
    found = run_command(lambda clients: last_audits(clients.store, limit))
    if json:
        return print_json([each.model_dump(mode="json", exclude={"etag"}) for each in found])
    table(
        ["operation", "started", "what", "who", "status", "counts*"],
        [
            (
                each.id,
                f"{each.started_at:%Y-%m-%d %H:%M}",
                each.action,
                each.actor,
                each.status,
                ", ".join(f"{number:,} {name}" for name, number in each.counts.items() if number),
            )
            for each in found
        ],
        empty="No operation is on record.",
    )
    return None
