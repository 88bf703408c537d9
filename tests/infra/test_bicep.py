"""The evaluated deployment matches Azure's schemas. The compiler checks the Bicep itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra.conftest import ROOT
from tests.infra.plans import WAYS, planned
from tools.azure_types import declared_types
from tools.bicepcheck.conform import deviations
from tools.bicepcheck.declarations import Module, Output, Parameter, ResourceUse, read_file
from tools.bicepcheck.evaluate import plan
from tools.bicepcheck.schema import schema
from tools.bicepcheck.syntax import BicepSyntaxError
from tools.bicepcheck.ways import WAYS as ALL

FILES = [*ROOT.glob("infra/**/*.bicep"), *ROOT.glob("bicep/**/*.bicep")]


def found_in(folder: Path, way: str = "full") -> list[str]:
    resources, _ = plan(folder / "infra" / "main.bicep", ALL[way])
    return [line for resource in resources for line in deviations(resource, schema())]


def test_the_reader_sees_what_is_declared() -> None:
    """The evaluation would skip a declaration that the reader overlooks."""
    for path in FILES:
        lines = path.read_text().splitlines()
        for word, kind in (
            ("resource", ResourceUse),
            ("module", Module),
            ("param", Parameter),
            ("output", Output),
        ):
            written = sum(line.startswith(f"{word} ") for line in lines)
            assert len(read_file(path).all(kind)) == written, (path.name, word)


def test_every_bicep_file_is_part_of_the_deployment() -> None:
    used = {
        (path.parent / module.target).resolve() for path in FILES for module in read_file(path).all(Module)
    }

    assert set(FILES) == used | {ROOT / "infra/main.bicep"}
    assert len(FILES) > 15


@pytest.mark.parametrize("way", ALL)
def test_what_would_be_deployed_is_what_azure_takes(way: str) -> None:
    resources, _ = planned(way)

    assert [line for resource in resources for line in deviations(resource, schema())] == []
    assert len(resources) > 60


@pytest.mark.parametrize("way", WAYS)
def test_no_resource_is_deployed_twice(way: str) -> None:
    ids = [(resource.id, getattr(resource.scope, "id", None)) for resource in planned(way)[0]]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("file", "right", "wrong", "problem"),
    [
        ("bicep/search.bicep", "'Disabled' : 'Enabled'", "'disabled' : 'enabled'", "publicNetworkAccess takes Enabled"),
        ("bicep/search.bicep", "semanticSearch: 'disabled'", "semanticSearch: 'off'", "semanticSearch takes"),
        ("bicep/cosmos.bicep", "ConsistencyLevel: 'Session'", "ConsistencyLevel: 'session'", "ConsistencyLevel takes"),
        ("bicep/budget.bicep", "'GreaterThanOrEqualTo'", "'AtLeast'", "operator takes"),
        ("bicep/function-app.bicep", "var packages = 'app-package'", "var packages = 'ap'", "is too short"),
        ("infra/main.bicep", "'stweb${token}'", "'st-functions-${token}'", "is too long"),
        ("infra/main.bicep", "'kv-${token}'", "'key-vault-with-its-own-${token}'", "more than 24"),
        ("bicep/cosmos.bicep", "failoverPriority: 0", "failoverPriority: -1", "too small"),
        ("infra/servicebus/Config.json", '"RequiresSession": false', '"RequiresSession": "no"', "takes bool"),
    ],
)  # fmt: skip
def test_what_only_azure_would_refuse_is_found(
    file: str, right: str, wrong: str, problem: str, copied: Path
) -> None:
    path = copied / file
    content = path.read_text()
    assert right in content
    path.write_text(content.replace(right, wrong, 1))

    assert any(problem in line for line in found_in(copied)), found_in(copied)


def test_the_longest_budget_name_is_cut(copied: Path) -> None:
    main = copied / "infra/main.bicep"
    content = main.read_text()
    assert "take('${environmentName}-monthly', 63)" in content
    main.write_text(content.replace("take('${environmentName}-monthly', 63)", "'${environmentName}-monthly'"))

    assert any("more than 63" in line for line in found_in(copied, "longest-name"))


def test_a_value_out_of_a_file_is_found_when_it_is_worked_out(copied: Path) -> None:
    file = copied / "infra" / "cosmos" / "containers.json"
    containers = json.loads(file.read_text())
    containers[0]["indexingPolicy"]["indexingMode"] = "eventual"
    containers[1]["partition"] = "/id"
    del containers[2]["id"]
    containers[2]["id"] = 7
    file.write_text(json.dumps(containers))

    found = found_in(copied, "plain")

    assert len(found) == 4
    assert "indexingMode takes consistent or lazy or none, not 'eventual'" in found[0]
    assert "has no partition" in found[1]


def test_what_cannot_be_read_is_refused_and_not_skipped(copied: Path) -> None:
    file = copied / "bicep/search.bicep"
    file.write_text(file.read_text().replace("resource service ", "resource ", 1))

    with pytest.raises(BicepSyntaxError, match="az bicep build"):
        found_in(copied)


def test_the_kept_schemas_are_those_of_the_declared_types() -> None:
    for name in declared_types():
        assert schema().resource(name) is not None, f"{name}: run python -m tools.azure_types"


def test_the_command_ends_with_1_when_something_is_wrong(copied: Path) -> None:
    search = copied / "bicep/search.bicep"
    search.write_text(search.read_text().replace("'Disabled' : 'Enabled'", "'Disabled' : 'Open'"))

    command = [sys.executable, "-m", "tools.bicepcheck", str(copied / "infra/main.bicep")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert "plain: search-abcdefghijklm.properties.publicNetworkAccess takes" in done.stdout
    is_open = [way for way in ALL.values() if not way.get("vnetEnabled")]
    assert done.stderr.strip() == f"{len(ALL)} deployments, {len(is_open)} problems"
