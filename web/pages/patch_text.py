"""Patches in mail: the places of diffs, the kinds of their lines, and lists of trailers.

Lines are read one at a time, and a hunk has the length in its header, so that no mail can make this hang.
"""

import re
from collections.abc import Iterator

_FILE = ("diff --git ", "diff -", "Index: ")
_OF_FILE = (
    "diff ", "index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ",
    "dissimilarity index ", "rename ", "copy ", "Binary files ", "=====", "--- ", "+++ ",
)  # fmt: skip
_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_TRAILER = re.compile(
    r"(?:[A-Z][A-Za-z]{1,20}(?:-[A-Za-z]{1,20}){0,3}-by|Cc|CC|Fixes|Link|Closes|Change-Id): ?\S"
)
_LIKE_TRAILER = re.compile(r"[A-Z][A-Za-z]{1,20}(?:-[A-Za-z]{1,20}){1,4}: ?\S")  # such as Pull-Request:
_LOOKS = {"+": "added", "-": "removed"}


def diffs_in(text: str) -> list[tuple[int, int]]:
    """Return the spans of diffs. Adjacent files with their hunks are one diff."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(lines):
        if not _begins(lines, at):
            at += 1
            continue
        end, has_hunk = _end_of_diff(lines, at)
        if has_hunk:  # a diff has a hunk
            found.append((starts[at], starts[end]))
        at = end
    return found


def _begins(lines: list[str], at: int) -> bool:
    if lines[at].startswith(_FILE):
        return True
    after = lines[at + 1] if at + 1 < len(lines) else ""
    return (lines[at].startswith("--- ") and after.startswith("+++ ")) or bool(_HUNK.match(lines[at]))


def _end_of_diff(lines: list[str], at: int) -> tuple[int, bool]:
    end, has_hunk = at, False
    while end < len(lines):
        hunk = _HUNK.match(lines[end])
        if hunk:
            last = _end_of_hunk(lines, end + 1, hunk)
            has_hunk = has_hunk or last > end + 1
            end = last
        elif lines[end].startswith((*_OF_FILE, *_FILE)):
            has_hunk = has_hunk or lines[end].startswith(("rename ", "Binary files ", "new mode "))
            end += 1
        else:
            break
    return end, has_hunk


def _end_of_hunk(lines: list[str], at: int, head: re.Match[str]) -> int:
    before, after = (int(number) if number else 1 for number in head.groups())
    while at < len(lines) and (before > 0 or after > 0):
        sign = lines[at][:1]
        if sign not in {" ", "+", "-", "\\", "\n", "\r", "\t"}:
            return at  # incomplete hunk
        before -= sign in {" ", "-", "\n", "\r", "\t"}
        after -= sign in {" ", "+", "\n", "\r", "\t"}
        at += 1
    return at + 1 if at < len(lines) and lines[at].startswith("\\ No newline") else at


def looks(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield runs of lines with the same CSS class: start, end and class."""
    lines = text.splitlines(keepends=True)
    first, at, look = 0, 0, ""
    for line, own in zip(lines, _line_looks(lines), strict=True):
        if own != look and at > first:
            yield first, at, look
            first = at
        look = own
        at += len(line)
    if at > first:
        yield first, at, look


def _line_looks(lines: list[str]) -> Iterator[str]:
    """Yield the CSS class of each line. `---` begins a file name only outside a hunk."""
    in_hunk_until = 0
    for number, line in enumerate(lines):
        hunk = _HUNK.match(line) if number >= in_hunk_until else None
        if hunk:
            in_hunk_until = _end_of_hunk(lines, number + 1, hunk)
            yield "hunk"
        elif number < in_hunk_until:
            yield _LOOKS.get(line[:1], "")
        else:
            yield "file"


def are_trailers(lines: list[str]) -> bool:
    """Return whether the lines are trailers such as `Reviewed-by:`. Indented lines continue a trailer."""
    if len(lines) == 1:
        return bool(_TRAILER.match(lines[0]))
    return not lines[0].startswith((" ", "\t")) and all(
        _TRAILER.match(line) or _LIKE_TRAILER.match(line) or line.startswith((" ", "\t")) for line in lines
    )
