"""The resources that `azd provision` would create, for several sets of parameters."""

from functools import lru_cache
from typing import Any

from tests.infra.conftest import ROOT
from tools.bicepcheck.evaluate import Planned, plan
from tools.bicepcheck.ways import DEPLOYER, OPERATOR
from tools.bicepcheck.ways import WAYS as ALL

__all__ = [
    "APPS",
    "DEPLOYER",
    "OPERATOR",
    "PARTS",
    "WAYS",
    "app",
    "app_settings",
    "of_type",
    "planned",
    "the",
]

PARTS = ("web", "worker")
APPS = {part: f"[id-{part}-abcdefghijklm.properties.principalId]" for part in PARTS}
WAYS: dict[str, dict[str, Any]] = {name: ALL[name] for name in ("plain", "private", "full")}


@lru_cache(maxsize=len(ALL))
def planned(way: str) -> tuple[list[Planned], dict[str, Any]]:
    return plan(ROOT / "infra" / "main.bicep", ALL[way])


def of_type(way: str, type_: str) -> list[Planned]:
    return [resource for resource in planned(way)[0] if resource.type == type_]


def the(way: str, type_: str) -> Planned:
    (resource,) = of_type(way, type_)
    return resource


def app(way: str, part: str) -> Planned:
    (found,) = [
        site for site in of_type(way, "Microsoft.Web/sites") if site.body["tags"]["azd-service-name"] == part
    ]
    return found


def app_settings(way: str, part: str) -> dict[str, str]:
    (found,) = [
        config
        for config in of_type(way, "Microsoft.Web/sites/config")
        if config.name == "appsettings" and config.properties["APP_PART"] == part
    ]
    return dict(found.properties)
