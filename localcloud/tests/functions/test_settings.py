"""local.settings.json, `%NAME%`, and connections."""

import json
from pathlib import Path
from typing import Any

import pytest

from localcloud.functions.problems import Problems
from localcloud.functions.settings import find_connection, load_local_settings, resolve_names


def settings(folder: Path, document: Any, **environ: str) -> tuple[dict[str, str], list[str]]:
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / "local.settings.json").write_text(text, encoding="utf-8")
    problems = Problems()
    load_local_settings(folder, environ, problems)
    return environ, problems.errors


def test_values_become_environment_variables_and_the_real_environment_wins(tmp_path: Path) -> None:
    document = {"IsEncrypted": False, "Values": {"A": "file", "B": "file", "N": 5, "T": True}}
    environ, problems = settings(tmp_path, document, B="environment")
    assert environ == {"A": "file", "B": "environment", "N": "5", "T": "true"}
    assert problems == []


def test_connection_strings_become_settings_of_that_section(tmp_path: Path) -> None:
    strings = {"BUS": "Endpoint=sb://x", "OLD": {"ConnectionString": "Endpoint=sb://y", "ProviderName": "p"}}
    environ, problems = settings(tmp_path, {"ConnectionStrings": strings})
    assert problems == []
    for name, expected in (("BUS", "Endpoint=sb://x"), ("OLD", "Endpoint=sb://y")):
        assert find_connection(name, environ) == expected


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    environ, problems = settings(tmp_path, "\ufeff" + json.dumps({"Values": {"A": "1"}}))
    assert (environ, problems) == ({"A": "1"}, [])


def test_an_app_without_local_settings_is_fine(tmp_path: Path) -> None:
    problems = Problems()
    load_local_settings(tmp_path, {}, problems)
    assert problems.errors == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"IsEncrypted": True, "Values": {}}, "IsEncrypted is true"),
        ("{", "is not JSON (line 1, column 2"),
        ("[]", "contains a list"),
        ({"Values": []}, "Values is not an object"),
        ({"Values": {"A": {"nested": 1}}}, "Values.A cannot be an environment variable"),
        ({"Values": {"A": None}}, "Values.A cannot be an environment variable"),
        ({"Values": {"A=B": "x"}}, "Values.A=B cannot be an environment variable"),
    ],
)
def test_a_problem_of_the_file_is_reported_in_one_line(tmp_path: Path, document: Any, expected: str) -> None:
    _, problems = settings(tmp_path, document)
    assert len(problems) == 1
    assert problems[0].startswith("local.settings.json: ")
    assert expected in problems[0]
    assert "\n" not in problems[0]


def test_names_are_resolved_in_every_string_of_a_binding() -> None:
    problems = Problems()
    binding = {"queueName": "%Q%", "deep": [{"path": "a/%Q%/%B%"}], "number": 5, "percent": "100 % of %Q%"}
    assert resolve_names(binding, {"Q": "orders", "B": "b"}, "function f", problems) == {
        "queueName": "orders",
        "deep": [{"path": "a/orders/b"}],
        "number": 5,
        "percent": "100 % of orders",
    }
    assert problems.errors == []


def test_every_name_that_is_not_set_is_named() -> None:
    problems = Problems()
    resolve_names({"a": "%ONE%", "b": "%TWO%"}, {}, "function f", problems)
    assert problems.errors == [
        "function f: %ONE% refers to a setting that is not set; set ONE",
        "function f: %TWO% refers to a setting that is not set; set TWO",
    ]


@pytest.mark.parametrize(
    "variable",
    ["BUS", "AzureWebJobsBUS", "ConnectionStrings:BUS", "ConnectionStrings__BUS", "CUSTOMCONNSTR_BUS"],
)
def test_a_connection_string_is_found_wherever_the_real_host_looks(variable: str) -> None:
    assert find_connection("BUS", {variable: "Endpoint=sb://x"}) == "Endpoint=sb://x"


def test_a_connection_that_is_not_set_is_not_found() -> None:
    assert find_connection("BUS", {"BUS": "", "OTHER": "x"}) is None
