"""Import rules that import-linter cannot check (its contracts are in pyproject.toml).

It knows external packages by their root name only, so it cannot distinguish azure.functions from
azure.cosmos. It also does not see modules that are imported by name, as in `lazy("azure.cosmos")`.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APP = ("function_app", "ops", "shared", "stages", "web")
SDKS = ("azure", "openai", "opentelemetry")
FUNCTIONS_SDK = ("azure.functions", "azurefunctions")
# Modules outside of pure computation: files, processes, threads, networks, the clock.
INPUT_OUTPUT = frozenset(
    {
        "aiohttp", "asyncio", "imaplib", "importlib", "os", "pathlib", "shutil", "signal", "socket", "subprocess",
        "tempfile", "threading", "time", "urllib.request",
    }
)  # fmt: skip
PURE = tuple(
    f"shared.{name}" for name in ("mail", "threading", "chunking", "reading", "model_reading", "summaries")
)
CLOCK = frozenset({"now", "utcnow", "today", "monotonic", "perf_counter"})
RUN = 8  # so many equal lines count as a repetition


def dotted(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def trees() -> dict[str, ast.Module]:
    """Return every module of the app by its dotted name."""
    files = [ROOT / "function_app.py", *(file for room in APP for file in (ROOT / room).rglob("*.py"))]
    return {dotted(file): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def lazily(call: ast.Call) -> str | None:
    """Return the module that `lazy("name")` or `import_module("name")` names."""
    function = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    named = call.args[0] if call.args else None
    if function not in {"lazy", "import_module"} or not isinstance(named, ast.Constant):
        return None
    return str(named.value)


def imports(tree: ast.Module) -> Iterator[str]:
    """Return imported modules, and names that may be modules, including lazy imports and those for type checkers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield str(node.module)
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Call) and (module := lazily(node)) is not None:
            yield module


def is_in(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@cache
def edges() -> frozenset[tuple[str, str]]:
    """Return (importer, imported) of all modules of the app."""
    known = trees().keys()
    return frozenset(
        (name, target) for name, tree in trees().items() for target in imports(tree) if target in known
    )


def test_the_test_sees_the_app() -> None:
    assert len(trees()) > 250
    assert ("shared.azure.connections", "shared.core.lazy_import") in edges()
    assert "azure.cosmos.aio" in set(imports(trees()["shared.azure.connections"]))


def test_only_the_azure_package_imports_the_sdks() -> None:
    found = {
        (name, target)
        for name, tree in trees().items()
        for target in imports(tree)
        if is_in(target, *SDKS) and not is_in(target, *FUNCTIONS_SDK) and target != "azure"
    }
    assert {name for name, _ in found if not is_in(name, "shared.azure")} == set()
    assert {target.partition(".")[0] for _, target in found} == set(SDKS)


def test_only_stages_and_web_import_azure_functions() -> None:
    found = {
        name for name, tree in trees().items() for target in imports(tree) if is_in(target, *FUNCTIONS_SDK)
    }
    assert {name for name in found if not is_in(name, "stages", "web", "function_app")} == set()
    assert "stages.registration" in found


def test_the_pure_packages_do_no_input_or_output() -> None:
    found = {
        (name, target)
        for name, tree in trees().items()
        if is_in(name, *PURE)
        for target in imports(tree)
        if is_in(target, *INPUT_OUTPUT)
    }
    assert found == set()


def test_the_pure_packages_read_no_clock() -> None:
    found = {
        (name, node.attr)
        for name, tree in trees().items()
        if is_in(name, *PURE)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in CLOCK
    }
    assert found == set()


def test_the_core_imports_nothing_of_the_app() -> None:
    found = {(name, target) for name, target in edges() if is_in(name, "shared.core")}
    assert {pair for pair in found if not is_in(pair[1], "shared.core")} == set()


def test_nothing_imports_the_entry_point() -> None:
    assert {name for name, target in edges() if target == "function_app"} == set()


def test_the_local_cloud_and_the_app_do_not_name_each_other_in_imports() -> None:
    for file in (ROOT / "localcloud").rglob("*.py"):
        named = set(imports(ast.parse(file.read_text(encoding="utf-8"))))
        assert {target for target in named if is_in(target, *APP)} == set(), file
    found = {
        name for name, tree in trees().items() for target in imports(tree) if is_in(target, "localcloud")
    }
    assert found == set()


PUBLIC = {
    "localcloud": {"LocalCloud"},
    "localcloud.testing": {"Clock", "CosmosEngine", "Faults", "ServiceBusEngine"},
}


def test_only_the_public_names_of_the_local_cloud_are_imported() -> None:
    found = {
        (file.relative_to(ROOT).as_posix(), node.module, alias.name)
        for folder in ("benchmarks", "evaluation", "tests", "tools")
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and is_in(str(node.module), "localcloud")
        for alias in node.names
    }
    assert {name for _, _, name in found} == set.union(*PUBLIC.values())
    assert {place for place in found if place[2] not in PUBLIC.get(str(place[1]), ())} == set()


def packages() -> set[str]:
    """Return every package of the app, and the top level itself."""
    return {"", *(name.rpartition(".")[0] for name in trees())}


def children_graph(package: str) -> dict[str, set[str]]:
    """Return which child of the package imports which other child."""
    depth = package.count(".") + 1 if package else 0
    graph: dict[str, set[str]] = defaultdict(set)
    for source, target in edges():
        if package and not (is_in(source, package) and is_in(target, package)):
            continue
        child, other = (".".join(name.split(".")[: depth + 1]) for name in (source, target))
        if child != other and package not in {child, other}:
            graph[child].add(other)
    return graph


def cycle_in(graph: dict[str, set[str]]) -> set[str]:
    """Remove all nodes that import nothing or are not imported, until only cycles are left."""
    left = set(graph)
    while True:
        imported = {target for name in left for target in graph[name]}
        inside = {name for name in left if name in imported and graph[name] & left}
        if inside == left:
            return left
        left = inside


def test_no_package_has_a_cycle_among_its_children() -> None:
    cycles = {package: cycle_in(children_graph(package)) for package in packages()}
    assert {package: cycle for package, cycle in cycles.items() if cycle} == {}


def test_a_cycle_is_found_and_what_hangs_on_it_is_not_blamed() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b", "e"}, "d": {"a"}}) == {"b", "c"}


def test_no_class_name_occurs_twice() -> None:
    named = Counter(
        node.name
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in named.items() if count > 1} == set()


def runs_of(lines: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield every run of so many lines, without their indentation and without blank lines."""
    bare = [line.strip() for line in lines if line.strip()]
    yield from (tuple(bare[at : at + RUN]) for at in range(len(bare) - RUN + 1))


def test_no_run_of_eight_lines_stands_twice() -> None:
    files = [ROOT / "function_app.py", *(file for room in APP for file in (ROOT / room).rglob("*.py"))]
    runs = Counter(run for file in files for run in runs_of(file.read_text(encoding="utf-8").splitlines()))
    assert len(runs) > 20_000
    assert [run for run, count in runs.items() if count > 1] == []


def test_a_run_that_stands_twice_is_seen_whatever_its_indentation() -> None:
    lines = [f"line {number}" for number in range(RUN)]
    assert Counter(runs_of([*lines, "other", "", *(f"    {line}" for line in lines)]))[tuple(lines)] == 2


def test_no_package_exports_what_its_modules_define() -> None:
    """Such a name hides the defining module, and loads modules that the importer does not need."""
    found = {
        name
        for name, tree in trees().items()
        if (ROOT / name.replace(".", "/") / "__init__.py").exists()
        and any(not isinstance(node, ast.Expr) for node in tree.body)
    }
    assert found == set()
