"""The queries: all in one package, each name for one text, and every field indexed."""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from types import FunctionType

import pytest

from shared.models.containers import CONTAINERS
from shared.models.queries import several_containers
from shared.models.queries.named_query import ListQuery, NamedQuery
from shared.operations.due_documents import COLLECTIONS
from tests.support.services import ROOT

PACKAGE = ROOT / "shared" / "documents" / "queries"
APP = [ROOT / "function_app.py", *(ROOT / room for room in ("shared", "stages", "web", "ops"))]
SELECT = re.compile(r"\bSELECT\b")
FAMILIES = {
    "threads": {"threads", "messages", "chunks", "placements", "corrections"},
    "reports": {"summaries", "reports", "digests", "subscriptions"},
    "operations": {"archives", "sources", "removals", "audits", "runs", "failures", "locks", "suppressions"},
}
MAKERS = {"NamedQuery", "ListQuery", "ContainerQueries"}


def app_files() -> Iterator[Path]:
    for root in APP:
        yield from [root] if root.suffix else root.rglob("*.py")


def named_queries() -> list[NamedQuery]:
    found: list[NamedQuery] = []
    for path in sorted(PACKAGE.glob("*.py")):
        module = importlib.import_module(f"shared.models.queries.{path.stem}")
        found += [value for value in vars(module).values() if isinstance(value, NamedQuery)]
    return found


def pages(query: ListQuery) -> Iterator[NamedQuery]:
    """Return the first and a later page, in every order, with all filters."""
    for sort in query.sorts:
        yield query.page(set(query.filters), sort, None)
        yield query.page(set(query.filters), sort, ("value", "last"))
        yield query.page(set(query.filters), sort, (None, "last"))


def listed_queries() -> list[NamedQuery]:
    found: list[NamedQuery] = []
    for path in sorted(PACKAGE.glob("*.py")):
        module = importlib.import_module(f"shared.models.queries.{path.stem}")
        for value in vars(module).values():
            if isinstance(value, ListQuery):
                found += pages(value)
    return found


def composed_queries() -> list[NamedQuery]:
    found = [*several_containers.ARCHIVE_PROGRESS_COUNTS]
    for collection in COLLECTIONS:
        found += [several_containers.due_failed(collection, exactly=exactly) for exactly in (True, False)]
        found += [several_containers.count_waiting(collection, 3)]
        makers = {
            name
            for name, value in vars(several_containers).items()
            if isinstance(value, FunctionType) and "collection" in signature(value).parameters
        }
        with_more = {"due_failed", "count_waiting"}
        public = [name for name in sorted(makers - with_more) if not name.startswith("_")]
        found += [getattr(several_containers, name)(collection) for name in public]
    for container in CONTAINERS:
        found += [several_containers.documents_with_id(container)]
    found += [several_containers.first_with_id(name) for name in ("chunks", "messages", "reports")]
    finished = ("archives", "messages", "chunks", "summaries", "reports")
    found += [several_containers.finished_count(name) for name in finished]
    return found


EVERY = [*named_queries(), *listed_queries(), *composed_queries()]


def test_no_query_stands_outside_of_the_package() -> None:
    strays = []
    for path in app_files():
        if path.is_relative_to(PACKAGE):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and SELECT.search(node.value):
                strays.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.value[:40]!r}")
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS:
                strays.append(f"{path.relative_to(ROOT)}:{node.lineno}: {getattr(node.func, 'id', '')}")
    assert strays == []


def test_every_query_stands_in_the_module_of_its_container() -> None:
    strays = []
    for path in sorted(PACKAGE.glob("*.py")):
        module = importlib.import_module(f"shared.models.queries.{path.stem}")
        for name, value in vars(module).items():
            if isinstance(value, NamedQuery | ListQuery) and value.container not in FAMILIES[path.stem]:
                strays.append(f"{path.name}: {name} reads {value.container}")
    assert strays == []


def test_no_name_is_used_for_two_texts() -> None:
    """The same text over several containers has several names, because metrics distinguish them by name alone."""
    texts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for query in [*named_queries(), *composed_queries()]:
        texts[query.name, query.container].add(query.text)
    twice = {name for name, found in texts.items() if len(found) > 1 and name[0] != "due_failed"}
    assert twice == set()
    constants: dict[str, int] = defaultdict(int)
    for query in named_queries():
        constants[query.name] += 1
    listed = {query.name for query in listed_queries()}
    assert [name for name, count in constants.items() if count > 1 or name in listed] == []


def ordered_by(text: str) -> list[str]:
    """Return paths with their direction, as in composite indexes."""
    match = re.search(r"ORDER BY (.+?)(?: OFFSET|$)", text)
    columns = [column.split() for column in match[1].split(",")] if match else []
    return [f"{'-' if column[-1] == 'DESC' else ''}/{column[0].removeprefix('c.')}" for column in columns]


def filtered_by(text: str) -> set[str]:
    """Return the paths of all fields in the condition."""
    condition = re.search(r" WHERE (.+?)(?: ORDER BY|$)", text)
    fields = re.findall(r"\bc\.([A-Za-z_]+(?:\.[A-Za-z_]+)*)", condition[1]) if condition else []
    return {"/" + field.replace(".", "/") for field in fields}


def is_indexed(container: str, path: str) -> bool:
    spec = CONTAINERS[container]
    under = [tree for tree in spec.unindexed_trees if path == tree or path.startswith(f"{tree}/")]
    return path not in spec.unindexed and not under


@pytest.mark.parametrize("query", EVERY, ids=lambda query: f"{query.container}-{query.name}")
def test_what_a_query_filters_and_sorts_by_is_indexed(query: NamedQuery) -> None:
    order = ordered_by(query.text)
    used = filtered_by(query.text) | {path.lstrip("-") for path in order}
    assert [path for path in sorted(used) if not is_indexed(query.container, path)] == []
    if len(order) > 1:  # needs a composite index with this order or its reverse
        reverse = [path[1:] if path.startswith("-") else f"-{path}" for path in order]
        composite = [list(paths) for paths in CONTAINERS[query.container].composite]
        assert order in composite or reverse in composite


def test_the_checks_see_what_they_are_for() -> None:
    text = "SELECT * FROM c WHERE c.text = @x AND c.data.y > 1 ORDER BY c.a DESC, c.id DESC OFFSET 0 LIMIT 1"
    assert ordered_by(text) == ["-/a", "-/id"]
    assert filtered_by(text) == {"/text", "/data/y"}
    assert not is_indexed("chunks", "/text")
    assert not is_indexed("threads", "/threading/root")
    assert SELECT.search("SELECT * FROM c")
    assert not SELECT.search("Select a list, from here")
