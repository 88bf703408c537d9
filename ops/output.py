"""What a command prints: data on standard output, as tables or JSON; everything else on standard error."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDTH = 100
Item = TypeVar("Item")
# Untrusted text must not send control sequences to the terminal, or change the direction of other text.
# Lone surrogates, which JSON can contain, cannot be encoded at all.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)


def clean(text: object) -> str:
    """Text that can be printed, with its lines."""
    return _UNSEEN.sub("\ufffd", str(text))


def line(text: object) -> str:
    return " ".join(clean(text).split())


def two_lines(first: object, second: object) -> "Text":
    """A cell with a second line, for what is too long to be a column."""
    from rich.text import Text

    return Text(f"{line(first)}\n{line(second)}")


def alarming(number: int, shown: str) -> "Text":
    """A count that should be zero: red if it is not."""
    from rich.text import Text

    return Text(shown, style="bold red" if number else "")


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 dead letter`, `2,000 dead letters`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shortened(text: object, most: int) -> str:
    whole = line(text)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def _console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # A pipe or a file has no width: a table is then as wide as it has to be.
    width = None if stream.isatty() else max(WIDTH, 160)
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def as_json(value: Any, *, indent: int | None = None) -> str:
    """JSON in which characters that could control a terminal are escaped; the data stays the same."""
    text = json.dumps(value, indent=indent, default=_plain, ensure_ascii=False)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: Any) -> None:
    sys.stdout.write(as_json(value, indent=2) + "\n")


def answer(value: Any, note: str, *, json: bool) -> None:
    """Say how it ended: as JSON for a program, else as a note for people."""
    return print_json(value) if json else print_note(note)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return str(value)


def print_note(text: str) -> None:
    """Prose, for people: on standard error."""
    from rich.text import Text

    _console(stderr=True).print(Text(clean(text)))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """A column's name may end in `>` (numbers, to the right) or `*` (takes the room that is left)."""
    from rich.text import Text

    made = _table(columns)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(line(cell)) for cell in row))
    if made.row_count:
        _console().print(made)
    else:
        print_note(empty)


def print_rows(
    found: Iterable[Item],
    columns: Sequence[str],
    cells: Callable[[Item], Sequence[object]],
    *,
    empty: str,
    shown: Callable[[Item], Any] | None,
) -> None:
    """A row of cells for each; as JSON where `shown` says what is printed of one."""
    if shown is not None:
        return print_json([shown(one) for one in found])
    return table(columns, map(cells, found), empty=empty)


def _table(columns: Sequence[str]) -> "Table":
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        wide = column.endswith("*")
        made.add_column(
            column.rstrip(">*"),
            justify="right" if column.endswith(">") else "left",
            ratio=1 if wide else None,
            no_wrap=not wide,
            overflow="fold" if wide else "ellipsis",
        )
    return made


def fields(pairs: Iterable[tuple[str, object]]) -> None:
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(ratio=1, overflow="fold")
    for name, value in pairs:
        made.add_row(name, Text(clean("" if value is None else value)))
    _console().print(made)


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    from shared.core.times import format_duration

    if moment is None:
        return ""
    return format_duration(((now or datetime.now(UTC)) - moment).total_seconds())


def confirm(question: str, *, yes: bool) -> None:
    """Ask before a destructive action. Without a terminal to ask on, it is refused."""
    from ops.command import Code, CommandError

    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandError(Code.USAGE, f"{question} Add --yes to skip this question.")
    sys.stderr.write(f"{clean(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CommandError(Code.INTERRUPTED, "Nothing was done.")


def write_export(output: str, records: Sequence[dict[str, Any]]) -> None:
    if output == "-":
        sys.stdout.writelines(_pieces(records, array=False))
        return
    from ops.command import Code, CommandError

    path = Path(output)
    try:
        # mkstemp creates files with mode 600: dead letters may hold private mail.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines(_pieces(records, array=path.suffix == ".json"))
        Path(temporary).replace(path)
    except OSError as error:
        raise CommandError(Code.FAILED, f"{output}: cannot be written: {error.strerror}") from None


def _pieces(records: Sequence[dict[str, Any]], *, array: bool) -> Iterator[str]:
    if array:
        yield as_json(records, indent=2) + "\n"
        return
    for record in records:
        yield as_json(record) + "\n"
