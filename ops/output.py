"""Output of commands: data to standard output as tables or JSON, everything else to standard error."""

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
# Untrusted text must not send control sequences to the terminal or change the text direction. Lone
# surrogates, which JSON can contain, cannot be encoded.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)


def clean(text: object) -> str:
    return _UNSEEN.sub("\ufffd", str(text))


def line(text: object) -> str:
    return " ".join(clean(text).split())


def two_lines(first: object, second: object) -> "Text":
    """Return a cell with a second line for text that is too long for a column."""
    from rich.text import Text

    return Text(f"{line(first)}\n{line(second)}")


def alarming(number: int, shown: str) -> "Text":
    from rich.text import Text

    return Text(shown, style="bold red" if number else "")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return texts such as `1 dead letter` and `2,000 dead letters`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shortened(text: object, most: int) -> str:
    whole = line(text)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def _console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # A pipe or a file has no width, so a table may be as wide as it needs.
    width = None if stream.isatty() else max(WIDTH, 160)
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def as_json(value: Any, *, indent: int | None = None) -> str:
    """Return JSON that escapes characters which could control a terminal."""
    text = json.dumps(value, indent=indent, default=_plain, ensure_ascii=False)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: Any) -> None:
    sys.stdout.write(as_json(value, indent=2) + "\n")


def answer(value: Any, note: str, *, json: bool) -> None:
    return print_json(value) if json else print_note(note)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return str(value)


def print_note(text: str) -> None:
    from rich.text import Text

    _console(stderr=True).print(Text(clean(text)))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Print a table. A column name may end in `>` (align right) or `*` (use the remaining width)."""
    from rich.text import Text

    grid = _table(columns)
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(line(cell)) for cell in row))
    if grid.row_count:
        _console().print(grid)
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
    if shown is not None:
        return print_json([shown(item) for item in found])
    return table(columns, map(cells, found), empty=empty)


def _table(columns: Sequence[str]) -> "Table":
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        wide = column.endswith("*")
        grid.add_column(
            column.rstrip(">*"),
            justify="right" if column.endswith(">") else "left",
            ratio=1 if wide else None,
            no_wrap=not wide,
            overflow="fold" if wide else "ellipsis",
        )
    return grid


def fields(pairs: Iterable[tuple[str, object]]) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for name, value in pairs:
        grid.add_row(name, Text(clean("" if value is None else value)))
    _console().print(grid)


def ago(moment: datetime | None, now: datetime | None = None) -> str:
    from shared.core.times import in_one_unit

    if moment is None:
        return ""
    return in_one_unit(((now or datetime.now(UTC)) - moment).total_seconds())


def confirm(question: str, *, yes: bool) -> None:
    """Ask before a destructive action. Raise an error if there is no terminal."""
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
        # mkstemp creates files with mode 600, because dead letters may contain private mail.
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
