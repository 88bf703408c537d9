"""What `azd provision` would create, for the ways in which it can be asked."""

from functools import lru_cache
from typing import Any

from tests.infra.conftest import ROOT
from tools.bicepcheck.evaluate import Planned, plan
from tools.bicepcheck.ways import DEPLOYER, OPERATOR
from tools.bicepcheck.ways import WAYS as ALL

__all__ = ["APP_PRINCIPAL", "DEPLOYER", "OPERATOR", "WAYS", "of_type", "planned", "the"]

APP_PRINCIPAL = "[id-abcdefghijklm.properties.principalId]"
WAYS: dict[str, dict[str, Any]] = {name: ALL[name] for name in ("plain", "private", "full")}


@lru_cache(maxsize=len(ALL))
def planned(way: str) -> tuple[list[Planned], dict[str, Any]]:
    return plan(ROOT / "infra" / "main.bicep", ALL[way])


def of_type(way: str, type_: str) -> list[Planned]:
    return [resource for resource in planned(way)[0] if resource.type == type_]


def the(way: str, type_: str) -> Planned:
    (resource,) = of_type(way, type_)
    return resource
