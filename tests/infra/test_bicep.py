"""The Bicep itself: read, understood and held against Microsoft's types."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.infra.conftest import ROOT
from tests.infra.plans import WAYS, planned
from tools.azure_types import declared_types
from tools.bicepcheck.check import check_all, modules_of
from tools.bicepcheck.conform import deviations
from tools.bicepcheck.declarations import Module, Output, Parameter, ResourceUse, read_file
from tools.bicepcheck.evaluate import plan
from tools.bicepcheck.schema import schema

MAIN = ROOT / "infra" / "main.bicep"


def test_the_bicep_has_no_problems() -> None:
    assert [str(problem) for problem in check_all(MAIN)] == []


def test_every_bicep_file_is_part_of_the_deployment() -> None:
    files = {*ROOT.glob("infra/**/*.bicep"), *ROOT.glob("bicep/**/*.bicep")}

    assert files == set(modules_of(MAIN))
    assert len(files) > 15  # a checker that finds nothing to check is no checker


def test_the_checker_sees_what_is_declared() -> None:
    """A declaration that the reader overlooked would be one that nothing checks."""
    for path in modules_of(MAIN):
        lines = path.read_text().splitlines()
        for word, kind in (
            ("resource", ResourceUse),
            ("module", Module),
            ("param", Parameter),
            ("output", Output),
        ):
            written = sum(line.startswith(f"{word} ") for line in lines)
            assert len(read_file(path).all(kind)) == written, (path.name, word)


@pytest.mark.parametrize("way", WAYS)
def test_what_would_be_deployed_fits_the_resource_types(way: str) -> None:
    resources, _ = planned(way)

    assert [line for resource in resources for line in deviations(resource, schema())] == []
    assert len(resources) > 60


@pytest.mark.parametrize("way", WAYS)
def test_no_resource_is_deployed_twice(way: str) -> None:
    ids = [(resource.id, getattr(resource.scope, "id", None)) for resource in planned(way)[0]]

    assert len(ids) == len(set(ids))


def test_a_value_that_a_resource_does_not_take_is_found_when_it_is_worked_out(copied: Path) -> None:
    file = copied / "infra" / "cosmos" / "containers.json"
    containers = json.loads(file.read_text())
    containers[0]["indexingPolicy"]["indexingMode"] = "eventual"
    containers[1]["partition"] = "/id"
    del containers[2]["id"]
    containers[2]["id"] = 7
    file.write_text(json.dumps(containers))

    resources, _ = plan(copied / "infra" / "main.bicep", dict(WAYS["plain"]))
    found = [line for resource in resources for line in deviations(resource, schema())]

    assert len(found) == 4
    assert "indexingMode takes consistent or lazy or none, not 'eventual'" in found[0]
    assert "has no partition" in found[1]


def test_a_name_that_azure_does_not_take_is_found_when_it_is_worked_out(copied: Path) -> None:
    main = copied / "infra" / "main.bicep"
    main.write_text(main.read_text().replace("'stfunc${token}'", "'st-functions-${token}'"))

    resources, _ = plan(main, dict(WAYS["plain"]))
    found = [line for resource in resources for line in deviations(resource, schema())]

    assert found == ["st-functions-abcdefghijklm.name: 'st-functions-abcdefghijklm' is too long"]


def test_the_kept_schemas_are_those_of_the_declared_types() -> None:
    for name in declared_types():
        assert schema().resource(name) is not None, f"{name}: run python -m tools.azure_types"


def test_the_command_ends_with_1_when_something_is_wrong(copied: Path) -> None:
    main = copied / "infra" / "main.bicep"
    main.write_text(main.read_text().replace("app.outputs.uri", "app.outputs.url"))

    command = [sys.executable, "-m", "tools.bicepcheck", str(main)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert "unknown-property" in done.stdout
    assert done.stderr.strip() == "17 files, 1 problems"
