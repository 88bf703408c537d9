"""What `azd provision` would create, for the ways in which it can be asked."""

from functools import lru_cache
from typing import Any

from tests.infra.conftest import ROOT
from tools.bicepcheck.evaluate import Planned, plan

APP_PRINCIPAL = "[id-abcdefghijklm.properties.principalId]"
OPERATOR = "11111111-2222-3333-4444-555555555555"
BASIC = (("environmentName", "demo"), ("location", "swedencentral"))
WAYS: dict[str, tuple[tuple[str, Any], ...]] = {
    "plain": BASIC,
    "private": (*BASIC, ("vnetEnabled", True), ("openAiEnabled", True)),
    "full": (
        *BASIC,
        ("operatorPrincipalId", OPERATOR),
        ("cosmosMode", "autoscale"),
        ("openAiEnabled", True),
        ("embeddingAlwaysReady", 0),
        ("preciseScaling", True),
        ("alertEmail", "ops@example.org"),
        ("budgetAmount", 100),
    ),
}


@lru_cache(maxsize=len(WAYS))
def planned(way: str) -> tuple[list[Planned], dict[str, Any]]:
    return plan(ROOT / "infra" / "main.bicep", dict(WAYS[way]))


def of_type(way: str, type_: str) -> list[Planned]:
    return [resource for resource in planned(way)[0] if resource.type == type_]


def the(way: str, type_: str) -> Planned:
    (resource,) = of_type(way, type_)
    return resource
