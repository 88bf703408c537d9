"""Counts phrases that plain technical English does not use, in Markdown, docstrings and comments.

    python -m tools.prose [--show N] [FILE ...]     (default: every tracked .md and .py file)

A hit is a place to check. Put the subject first, use the field's terms, and say one idea in a sentence.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.tracked import tracked

PATTERNS = {
    "opens with What, no question": r"(?:^|(?<=[.:;!] ))What (?![^.?!]*\?)",
    "opens with Who, no question": r"(?:^|(?<=[.:;!] ))Who(?:ever)?\b(?![^.?!]*\?)",
    "opens with Where, no question": r"(?:^|(?<=[.;] ))Where (?![^.?!]*\?)",
    "old adverbs": r"\b(?:anew|thereof|whence|thereby|hence|whichever|wherever|likewise|besides|meanwhile)\b",
    "to be had, as it comes": r"\b(?:(?:to be|is) had|as (?:it|they) comes?"
    r"|as (?:it|they) (?:is|are|was|were)\b(?=[.,;]))",
    "somebody, nobody, everybody": r"\b(?:some|no|every)body\b",
    "beside for next to": r"\bbeside\b",
    "stands in": r"\bstands? (?:in|there|here|for that|on|at|beside|once|twice)\b",
    "is said": r"\b(?:is|are|was) said\b",
    "of which, of whom": r"\b(?:of|from|by|in|to|for) (?:which|whom)\b",
    "is no more": r"\bis no more\b",
    "takes in, comes back": r"\btakes? \w+(?: \w+)? in\b|\bcomes? (?:back|again|out)\b",
    "those that, the one that": r"\b(?:such a one|that one|one that|those that|that which"
    r"|the ones? (?:that|of))\b",
    "mend, tend, set aside": r"\b(?:mend(?:s|ed|ing)?|tend(?:s|ed)? (?:the|a|it)|set aside)\b",
    "semicolon": r";(?= \w)",
}


def passages(path: Path) -> Iterator[str]:
    """Yield each paragraph of a Markdown file, or each docstring and comment of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        prose = re.sub(r"```.*?```|`[^`]*`|\|", " ", text, flags=re.DOTALL)
        yield from re.split(r"\n\s*\n", prose)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def find_hits(paths: Iterable[Path]) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of words, and the pattern and place of each hit."""
    words, hits = 0, []
    for path in paths:
        for passage in passages(path):
            text = " ".join(passage.split())
            words += len(re.findall(r"\w+", text))
            hits += [
                (name, f"{path}: {text[max(0, hit.start() - 30) : hit.end() + 60]}")
                for name, pattern in PATTERNS.items()
                for hit in re.finditer(pattern, text)
            ]
    return words, hits


def count_hits(paths: Iterable[Path]) -> float:
    """Return the hits in 10,000 words."""
    words, hits = find_hits(paths)
    return round(len(hits) * 10_000 / max(words, 1), 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", type=int, default=0, metavar="N", help="show N places of each pattern")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    words, hits = find_hits(options.files or [path for path in tracked() if path.suffix in {".md", ".py"}])
    sys.stdout.write(f"{words} words, {len(hits) * 10_000 / max(words, 1):.0f} hits in 10,000 words\n")
    for name, count in Counter(name for name, _ in hits).most_common():
        sys.stdout.write(f"{count:6}  {name}\n")
        for place in [place for found, place in hits if found == name][: options.show]:
            sys.stdout.write(f"          {place}\n")


if __name__ == "__main__":
    main()
