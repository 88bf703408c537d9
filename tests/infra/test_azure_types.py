"""The kept schemas are still what Microsoft's package says. Needs `pip install msmcp-azure` (60 MB)."""

import json

import pytest

from tools.azure_types import KEPT, NoTypesError, declared_types, executable, keep


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

    assert "Microsoft.Web/sites@2024-04-01" in declared
    assert "Microsoft.Resources/resourceGroups@2024-11-01" in declared
    assert len(declared) > 30
