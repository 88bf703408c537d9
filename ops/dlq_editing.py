"""One dead letter with another body: shown as it changes, then sent."""

import difflib
import json as json_
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ops.command import Interrupt, actor, run_command
from ops.dlq_operations import end, run_shown
from ops.exit_codes import Code, CommandError
from ops.output import clean, confirm, print_note

if TYPE_CHECKING:
    from shared.clients.connections import Clients
    from shared.documents.audits import Audit


def edit_letter(
    queue: str, number: int, changes: list[str], file: str | None, *, dry_run: bool, yes: bool, json: bool
) -> None:
    if bool(changes) == (file is not None):
        raise CommandError(Code.USAGE, "Give either --set PATH=VALUE or --body FILE.")
    interrupt, given = Interrupt(), _read(file) if file is not None else None

    async def work(clients: "Clients") -> "Audit | None":
        from shared.upkeep.deadletters.editing import edited_copy, find_letter, request_edit

        letter = await find_letter(clients, queue, number)
        before = letter.copy.data()
        body = given if given is not None else with_changes(before, changes)
        edited_copy(letter, body)
        if not json:
            typer.echo(difference(before, body))
        if dry_run:
            print_note("No changes made.")
            return None
        confirm(f"Send dead letter {number} of {queue} with this body?", yes=yes)
        return await run_shown(clients, await request_edit(clients, queue, number, body, actor()), interrupt)

    end(run_command(work, interrupt=interrupt), json=json)


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CommandError(Code.USAGE, f"--body: {error}") from None


def with_changes(body: bytes, changes: list[str]) -> bytes:
    """The JSON body with each PATH=VALUE set; a value that is no JSON is a string."""
    try:
        content = json_.loads(body)
    except (ValueError, RecursionError):
        raise CommandError(Code.USAGE, "The body is not JSON: give the whole body with --body.") from None
    for change in changes:
        path, separator, text = change.partition("=")
        if not (path and separator):
            raise CommandError(Code.USAGE, f"--set: {change!r} is not PATH=VALUE")
        _set(content, path.split("."), _value(text), path)
    return json_.dumps(content).encode()


def _value(text: str) -> Any:
    try:
        return json_.loads(text)
    except (ValueError, RecursionError):
        return text


def _set(content: Any, path: list[str], value: Any, shown: str) -> None:
    for name in path[:-1]:
        content = content.get(name) if isinstance(content, dict) else None
    if not isinstance(content, dict):
        raise CommandError(Code.USAGE, f"--set: the body has no object at {shown!r}")
    content[path[-1]] = value


def difference(before: bytes, after: bytes) -> str:
    lines = difflib.unified_diff(_lines(before), _lines(after), "before", "after", lineterm="", n=1)
    return clean("\n".join(lines))


def _lines(body: bytes) -> list[str]:
    try:
        text = json_.dumps(json_.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
    return text.splitlines()
