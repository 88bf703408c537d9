"""Options that several commands have."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from ops.exit_codes import Code, CommandError

__all__ = ["DryRun", "Json", "Limit", "Yes", "moment"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Limit = Annotated[int, typer.Option(metavar="COUNT", min=1, help="At most so many.")]


def moment(text: str | None, name: str) -> datetime | None:
    """A time in ISO 8601, in UTC unless it says otherwise."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            Code.USAGE, f"{name}: {text!r} is not a time such as 2026-03-04T05:06:07Z"
        ) from None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
