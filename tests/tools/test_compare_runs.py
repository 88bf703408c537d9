"""The comparison of two runs: it finds differences, and refuses to compare nothing."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from tools.compare_runs import CONTAINERS, NothingComparedError, compare, differences, normalized, read_run

RUN = "0d5d0b3e-6f1c-5c1b-9a53-2f2f6f0f3a01"
OTHER_RUN = "7a9d0b3e-6f1c-5c1b-9a53-2f2f6f0f3a02"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param({"a": {"text": "x"}}, {"a": {"text": "x"}}, [], id="the same"),
        pytest.param({"a": {"text": "x"}}, {"a": {"text": "y"}}, ['a.text: "x" became "y"'], id="a value"),
        pytest.param({"a": {"text": "x"}}, {"a": {}}, ['a.text: "x" became null'], id="a field"),
        pytest.param({"a": {}}, {}, ["a: only before"], id="a document less"),
        pytest.param({}, {"a": {}}, ["a: only after"], id="a document more"),
    ],
)
def test_a_line_names_what_differs(before: Any, after: Any, found: list[str]) -> None:
    assert list(differences(before, after)) == found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"created_at": "2024"}, {"created_at": "2025"}),
        ({"copies": [{"arrived": "2024", "place": 1}]}, {"copies": [{"arrived": "2025", "place": 1}]}),
        ({"summary_id": RUN}, {"summary_id": OTHER_RUN}),
        ({"report_id": f"rpt-{RUN}", "_etag": "1"}, {"report_id": f"rpt-{OTHER_RUN}", "_etag": "2"}),
    ],
)
def test_times_and_random_ids_are_no_difference(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert normalized(first) == normalized(second)


@pytest.mark.parametrize("name", ["date", "thread_id", "quote", "offset", "at"])
def test_the_rest_is_kept(name: str) -> None:
    assert normalized({"positions": [{name: "2024"}]}) == {"positions": [{name: "2024"}]}


def stored(folder: Path, **documents: list[dict[str, Any]]) -> Path:
    """Create a folder as the local Cosmos DB stores it."""
    (folder / "cosmos").mkdir(parents=True)
    connection = apsw.Connection(str(folder / "cosmos" / "cosmos.db"))
    connection.execute("CREATE TABLE containers (number INTEGER, id TEXT)")
    for number, name in enumerate(CONTAINERS):
        connection.execute("INSERT INTO containers VALUES (?, ?)", (number, name))
        connection.execute(f"CREATE TABLE d{number} (body BLOB)")
        for document in documents.get(
            name, [{"id": "1", "scope": "s", "summary_type": "thread", "summary_id": "1"}]
        ):
            connection.execute(f"INSERT INTO d{number} VALUES (jsonb(?))", (json.dumps(document),))
    connection.close()
    return folder


def test_two_folders_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = {"id": RUN, "scope": "s", "summary_type": "thread", "title": "One"}
    old = {**summary, "id": OTHER_RUN, "title": "Older"}
    report = {"id": "1", "scope": "s", "summary_type": "thread", "summary_id": RUN}
    again = {**report, "summary_id": OTHER_RUN}
    one = read_run(stored(tmp_path / "one", summaries=[summary, old], reports=[report]))
    same = read_run(stored(tmp_path / "same", summaries=[{**summary, "id": OTHER_RUN}], reports=[again]))
    other = read_run(stored(tmp_path / "other", summaries=[{**summary, "title": "Two"}], reports=[report]))
    assert compare(one, same) == 0
    assert compare(one, other) == 1
    assert 'title: "One" became "Two"' in capsys.readouterr().out


def test_empty_runs_are_no_success(tmp_path: Path) -> None:
    one = read_run(stored(tmp_path / "one", chunks=[]))
    with pytest.raises(NothingComparedError, match="chunks"):
        compare(one, read_run(stored(tmp_path / "two", chunks=[])))


def test_a_folder_without_a_database_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no database"):
        read_run(tmp_path)
