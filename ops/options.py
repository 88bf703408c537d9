"""Options that several commands have."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from ops.exit_codes import Code, CommandError

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done without doing it.")]
Limit = Annotated[int, typer.Option(metavar="COUNT", min=1, help="Maximum number.")]


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


def shared_options(**readers: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options that several commands have, declared once: as the parameters of the function that reads them.

    A command has one parameter for each reader, by name. It is called with the reader bound to what was given
    on the command line, and calls it when it needs the value. Typer sees the reader's parameters instead.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        seen: list[Parameter] = []
        for parameter in signature(command).parameters.values():
            reader = readers.get(parameter.name)
            seen += signature(reader).parameters.values() if reader else [parameter]

        @wraps(command)
        def run(**values: Any) -> Any:
            for name, reader in readers.items():
                own = {option: values.pop(option) for option in signature(reader).parameters}
                values[name] = partial(reader, **own)
            return command(**values)

        run.__signature__ = Signature(  # type: ignore[attr-defined]  # what Typer reads
            [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in seen]
        )
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in seen}
        return run

    return decorate
