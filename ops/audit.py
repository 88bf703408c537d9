"""`audit`: what operators did."""

from typing import Annotated

import typer

from ops.command import run_command
from ops.options import Json, Limit
from ops.output import fields, print_json, table


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
        stored = run_command(lambda clients: find_audit(clients.store, operation)).model_dump(
            mode="json", exclude={"etag"}
        )
        unused = {"schema_version", "created_at", "attemptCount", "lastAttemptTime", "lastError", "day"}
        shown = {name: value for name, value in stored.items() if name not in unused and value is not None}
        return print_json(shown) if json else fields(shown.items())
    found = run_command(lambda clients: last_audits(clients.store, limit))
    if json:
        return print_json([record.model_dump(mode="json", exclude={"etag"}) for record in found])
    table(
        ["operation", "started", "what", "who", "status", "counts*"],
        [
            (
                record.id,
                f"{record.started_at:%Y-%m-%d %H:%M}",
                record.action,
                record.actor,
                record.status,
                ", ".join(f"{number:,} {name}" for name, number in record.counts.items() if number),
            )
            for record in found
        ],
        empty="No operations.",
    )
    return None
