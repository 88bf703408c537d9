"""The stored schemas match Microsoft's package. Needs `pip install msmcp-azure` (60 MB)."""

import json
import re
from collections import defaultdict
from mmap import ACCESS_READ, mmap

import pytest

from tools.azure_types import KEPT, NoTypesError, declared_types, embedded_files, executable, keep


@pytest.fixture
def carried() -> dict[str, set[str]]:
    """Return the stable versions of each type in the package."""
    try:
        file = executable()
    except NoTypesError as missing:
        pytest.skip(str(missing))
    found = defaultdict[str, set[str]](set)
    with file.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as data:
        for text in embedded_files(data):
            for name, version in re.findall(rb'"name": *"(Microsoft\.[\w./]+)@([\d-]+)"', text):
                found[name.decode().lower()].add(version.decode())
    return found


@pytest.mark.slow
def test_each_resource_has_the_newest_stable_version_that_the_package_carries(
    carried: dict[str, set[str]],
) -> None:
    declared = dict(name.split("@") for name in declared_types())

    assert len(carried) > 1000
    assert {
        name: max(carried[name.lower()])
        for name, version in declared.items()
        if max(carried[name.lower()], default=version) > version
    } == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_kept_schemas_are_those_of_the_package() -> None:
    try:
        executable()
    except NoTypesError as missing:
        pytest.skip(str(missing))

    assert json.loads(KEPT.read_text()) == json.loads(json.dumps(keep(declared_types())))


def test_the_declared_types_are_found_in_all_files() -> None:
    declared = declared_types()

    assert "Microsoft.Web/sites@2024-11-01" in declared
    assert "Microsoft.Resources/resourceGroups@2025-04-01" in declared
    assert len(declared) > 30
