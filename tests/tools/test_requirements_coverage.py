"""The coverage of the requirements follows the tests' markers, and rests on code that production calls."""

import ast

from tools.requirements_coverage import (
    PAGE,
    imported_by,
    marked_tests,
    page,
    required_numbers,
    unused_names,
)


def test_the_page_is_the_one_that_the_markers_give() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run python -m tools.requirements_coverage"


def test_every_requirement_has_a_test_and_every_marker_a_requirement() -> None:
    required = set(required_numbers())
    shown = {number for _, named in marked_tests().values() for number in named}
    assert len(required) > 80
    assert shown == required, shown ^ required


def test_no_claim_rests_on_code_that_production_does_not_call() -> None:
    unused = unused_names()
    claims = {
        (name, symbol)
        for name, (file, _) in marked_tests().items()
        for symbol in imported_by(file) & unused
        if symbol in _names_in(file.read_text(encoding="utf-8"), name)
    }
    assert not claims


def test_a_function_that_only_tests_use_is_found() -> None:
    """Otherwise the test above would prove nothing."""
    assert "document_class" in unused_names()
    assert "store_upload" not in unused_names()


def _names_in(text: str, function: str) -> set[str]:
    """Return the names in a test's body."""
    (found,) = [node for node in ast.walk(ast.parse(text)) if getattr(node, "name", None) == function]
    return {node.id for node in ast.walk(found) if isinstance(node, ast.Name)}
