"""The report in README.md and the picture of a run come from the output of `make run`."""

import pytest

from tests.support.services import ROOT
from tools.docs_pictures import README_LINES, picture, report_lines, with_report

RULE = "─" * 20
OUTPUT = ["Adding a.mbox", "  Thread  Outcome", f" {RULE}", "  T       accepted", f"Report: T {RULE}", "",
          "  Accepted.  ", *["  • more"] * 30, RULE, "View the thread: http://localhost/threads/1"]  # fmt: skip


def test_the_report_is_what_stands_between_the_rules_without_empty_lines_and_margin() -> None:
    lines = report_lines(OUTPUT)

    assert lines[:3] == ["T", "Accepted.", "• more"]
    assert len(lines) == README_LINES


def test_an_output_without_a_report_ends_the_run() -> None:
    with pytest.raises(SystemExit, match="between two rules"):
        report_lines(["error: the app is away"])


def test_the_readme_has_the_block_that_is_filled() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    filled = with_report(page, ["the report"])

    assert "<!-- report -->\n```\nthe report\n```\n<!-- /report -->" in filled
    assert with_report(filled, ["the report"]) == filled


def test_the_picture_names_no_other_host_for_its_fonts_and_ends_with_the_address() -> None:
    svg = picture(OUTPUT)

    assert "@font-face" not in svg
    assert svg.count("more") < 30
    assert "http://localhost/threads/1" in svg.replace("&#160;", " ")
