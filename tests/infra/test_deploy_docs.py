"""docs/deploy.md names what there is to set, to watch and to grant."""

import json
import re

from tests.infra.conftest import ROOT
from tests.infra.plans import of_type, planned

DOCS = (ROOT / "docs" / "deploy.md").read_text()


def test_every_variable_that_a_parameter_reads_is_described() -> None:
    parameters = json.loads((ROOT / "infra/main.parameters.json").read_text())["parameters"]
    for entry in parameters.values():
        name, _, default = entry["value"].strip("${}").partition("=")
        row = next((line for line in DOCS.splitlines() if line.startswith("|") and name in line), "")
        assert row, name
        assert default in row, name


def test_every_role_is_described() -> None:
    for role in json.loads((ROOT / "infra/roles.json").read_text()):
        assert role.removeprefix("Storage Queue ").removeprefix("Storage Table ") in DOCS, role


def test_every_alert_is_described() -> None:
    for type_ in ("scheduledQueryRules", "metricAlerts"):
        for rule in of_type("plain", f"Microsoft.Insights/{type_}"):
            assert rule.name.removeprefix("demo-") in DOCS, rule.name


def test_the_counts_in_the_cost_table_are_those_of_the_deployment() -> None:
    def count(way: str, type_: str) -> int:
        return len(of_type(way, type_))

    rules = f"{count('plain', 'Microsoft.Insights/scheduledQueryRules')} query rules"
    metrics = f"{count('plain', 'Microsoft.Insights/metricAlerts')} metric rules"
    zones = f"{count('private', 'Microsoft.Network/privateDnsZones')} DNS zones"
    with_model = count("private", "Microsoft.Network/privateEndpoints")

    assert f"{rules}, {metrics}" in DOCS
    assert f"{with_model - 1} x 730 h, {with_model} with a model; {zones}" in DOCS


def test_every_output_that_the_docs_name_is_there() -> None:
    _, outputs = planned("plain")

    assert set(re.findall(r"\b(WORKBOOK_ID|APP_URI)\b", DOCS)) <= outputs.keys()
