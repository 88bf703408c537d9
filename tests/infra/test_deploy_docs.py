"""The docs of a deployment name all settings, alerts and roles."""

import json
import re

from tests.infra.azd import names_read
from tests.infra.conftest import ROOT
from tests.infra.plans import of_type, planned
from tools.bicepcheck.ways import WAYS as ALL

DOCS = (ROOT / "docs" / "deploy.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
ALERTS = (ROOT / "docs" / "telemetry.md").read_text()


def test_every_variable_that_a_parameter_reads_is_described() -> None:
    rows = [line for line in SETTINGS.splitlines() if line.startswith("|")]
    for name, default in names_read().items():
        row = next((line for line in rows if re.search(rf"\b{name}\b", line.split("|")[1])), "")
        assert row, name
        assert default in row, name


def test_the_docs_name_no_setting_that_cannot_be_set() -> None:
    """Each apparent setting in the tables of settings is read by a parameter or set by azd."""
    named = {
        word
        for line in SETTINGS.splitlines()
        if line.startswith("| ")
        for word in re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\bPROFILE\b", line.split("|")[1])
    }

    assert named == names_read().keys()


def test_the_walk_through_goes_from_the_first_deployment_to_the_tear_down() -> None:
    hour = DOCS.partition("\n## The first hour\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^\*\*(\d)\. ([^.*]+)\.\*\*", hour, re.MULTILINE)

    assert [int(number) for number, _ in steps] == list(range(1, 9))
    for command in re.findall(r"python -m ops --settings \S+ (\w+(?: \w+)?)", hour):
        assert runs_help(command.split()), command


def runs_help(command: list[str]) -> bool:
    """Return whether `ops` knows the command. An argument is not a command."""
    from typer.testing import CliRunner  # noqa: PLC0415

    from ops.cli import app  # noqa: PLC0415

    return CliRunner().invoke(app, [*command, "--help"]).exit_code == 0


def test_every_role_is_described() -> None:
    for role in json.loads((ROOT / "infra/roles.json").read_text()):
        assert role.removeprefix("Storage Queue ").removeprefix("Storage Table ") in DOCS, role


def test_every_alert_is_described() -> None:
    for type_ in ("scheduledQueryRules", "metricAlerts"):
        for rule in of_type("plain", f"Microsoft.Insights/{type_}"):
            assert rule.name.removeprefix("demo-") in ALERTS, rule.name


def test_the_counts_in_the_docs_are_those_of_the_deployment() -> None:
    def count(way: str, type_: str) -> int:
        return len(of_type(way, type_))

    rules = f"{count('plain', 'Microsoft.Insights/scheduledQueryRules')} query rules"
    metrics = f"{count('plain', 'Microsoft.Insights/metricAlerts')} metric rules"
    zones = f"{count('private', 'Microsoft.Network/privateDnsZones')} DNS zones"
    with_model = count("private", "Microsoft.Network/privateEndpoints")

    assert f"{rules}, {metrics}" in DOCS
    assert f"for {len(ALL)} ways to deploy" in DOCS
    assert f"{with_model - 1} x 730 h, {with_model} with a model; {zones}" in DOCS


def test_every_output_that_the_docs_name_is_there() -> None:
    _, outputs = planned("plain")

    assert set(re.findall(r"\b(WORKBOOK_ID|APP_URI)\b", DOCS)) <= outputs.keys()


def test_a_first_deployment_is_read_in_a_quarter_of_an_hour_and_says_what_is_not_proven() -> None:
    table = DOCS.partition("\n## What is proven\n")[2]

    assert len(DOCS.split()) <= 2400
    for step in ("azd up", "workflow", "package", "queries", "roles", "waking from zero"):
        assert step in table
    assert "not proven" in table
