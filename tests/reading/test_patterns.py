"""Every pattern of the reader matches its sentences of `patterns.toml`, and none of the others."""

import ast
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from shared import reading
from shared.reading.cues import Cue, Family
from shared.reading.mails import OwnSentence

READS_LINES = {"mails", "linked_thread"}
"""These modules look for quote marks, addresses and subject tags, not for wordings."""
TABLE = tomllib.loads(Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8"))


def patterns() -> dict[str, Cue | re.Pattern[str]]:
    """Return all patterns by the module and name of their definition. The cues of a family are numbered."""
    found: dict[str, Cue | re.Pattern[str]] = {}
    for module in {module.name for module in pkgutil.iter_modules(reading.__path__)} - READS_LINES:
        loaded = import_module(f"{reading.__name__}.{module}")
        tree = ast.parse(Path(str(loaded.__file__)).read_text(encoding="utf-8"))
        for name in _names(tree):
            value = getattr(loaded, name)
            if isinstance(value, Family) and name in {"SUPPORTS", "APPROVES"}:
                found |= {f"{module}.{name}.{number}": cue for number, cue in enumerate(value.cues, 1)}
            elif isinstance(value, Cue | re.Pattern):
                found[f"{module}.{name}"] = value
    return found


def _names(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name


PATTERNS = patterns()


def sentence(text: str) -> OwnSentence:
    return OwnSentence(0, 0, 0, len(text), text, -1, opens_paragraph=True)


def matches(pattern: Cue | re.Pattern[str], text: str) -> bool:
    if isinstance(pattern, Cue):
        return pattern.finds(sentence(text))
    return bool(pattern.search(sentence(text).folded) or pattern.search(text))


def test_the_table_has_every_pattern_and_no_other() -> None:
    assert TABLE.keys() == PATTERNS.keys()
    assert all(row["match"] and row["not"] for row in TABLE.values())


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_a_pattern_matches_its_sentences_and_not_the_others(name: str) -> None:
    pattern, row = PATTERNS[name], TABLE[name]
    assert [text for text in row["match"] if not matches(pattern, text)] == []
    assert [text for text in row["not"] if matches(pattern, text)] == []
    folded = [sentence(text).folded for text in row["match"]]
    alternatives = pattern.patterns if isinstance(pattern, Cue) else ()
    assert [one for one in alternatives if not any(re.search(one, text) for text in folded)] == []
