"""The mutator: which changes it makes, and that its lists name what is there."""

import tomllib

import pytest

from tests.support.services import ROOT
from tools.mutants.operators import mutants_of, named_mutant
from tools.mutants.targets import NAMED, TARGETS


def changes(source: str) -> set[str]:
    return {
        "\n".join(line[1:] for line in mutant.diff if line.startswith("+")) for mutant in mutants_of(source)
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {"x = a <= b", "x = a >= b"}),
        ("x = a and b", {"x = a or b", "x = a", "x = b"}),
        ("x = not a", {"x = a"}),
        ("x = a / b", {"x = a * b"}),
        ("x = 30", {"x = 31", "x = 29", "x = 300000"}),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("x = f(a, condition=b)", {"x = f(a)"}),
        ("x = {'k': None}", {"x = {}", "x = {'XXkXX': None}", "x = {'k': 'XX'}"}),
        ("x = 'c.a = 1 AND NOT c.b'", {"x = 'c.a != 1 AND NOT c.b'", "x = 'c.a = 1 OR NOT c.b'", "x = 'c.a = 1 AND c.b'"}),
        ("x = (a, b)", {"x = (b,)", "x = (a,)"}),
        ("def f() -> bool:\n    return a", {"    return True", "    return False"}),
        ("def f():\n    return a", {"    return None"}),
        ("f()", {"pass"}),
        ("x = [a for a in b if a]", {"x = [a for a in b]"}),
        ("if a:\n    b", {"if not a:", "    pass"}),
    ],
)  # fmt: skip
def test_a_program_has_these_mutants(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "import os",
        "__all__ = ['a']",
        "log.info('text %d', 1)",
        "def f(a: 'int') -> 'int':\n    raise",
        "@decorated(1)\nclass A(Base):\n    pass",
    ],
)
def test_what_decides_nothing_is_left_alone(source: str) -> None:
    assert changes(source) <= {"    pass"}


def test_only_the_functions_that_are_named_are_changed() -> None:
    source = "x = 1\ndef f():\n    return 2\ndef g():\n    return 3\n"
    assert {mutant.line for mutant in mutants_of(source, only=("g",))} == {5}


def test_an_exception_goes_through_where_its_handler_is_taken_away() -> None:
    source = "try:\n    f()\nexcept ValueError:\n    g()"
    assert "if True:" in changes(source)


@pytest.mark.parametrize("change", NAMED, ids=lambda change: str(change.name))
def test_what_must_not_survive_can_be_changed(change: object) -> None:
    (named,) = [candidate for candidate in NAMED if candidate is change]
    source = (ROOT / named.path).read_text()
    assert named_mutant(source, named.name, named.before, named.after).source != source
    assert named.path in {target.path for target in TARGETS}


def test_the_lists_name_files_and_functions_that_are_there() -> None:
    for target in TARGETS:
        source = (ROOT / target.path).read_text()
        assert all((ROOT / test).exists() for test in target.tests), target.path
        assert all(f"def {name}(" in source for name in target.only), target.path
    listed = tomllib.loads((ROOT / "tools/mutants/equivalent.toml").read_text()).get("mutant", [])
    assert {entry["path"] for entry in listed} <= {target.path for target in TARGETS}
