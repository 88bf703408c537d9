"""The checker proves itself: each error planted into the real files is found, and named for what it is."""

import re
from pathlib import Path

import pytest

from tests.infra.conftest import ROOT
from tools.bicepcheck.check import check_all, check_file

MAIN, APP, COSMOS = "infra/main.bicep", "bicep/function-app.bicep", "bicep/cosmos.bicep"
BUS, QUEUE, ALERTS = "bicep/servicebus.bicep", "bicep/servicebus-queue.bicep", "bicep/alerts.bicep"
IDENTITY, NETWORK, BUDGET = "bicep/identity.bicep", "bicep/network.bicep", "bicep/budget.bicep"
KEYLESS = "    disableLocalAuth: true\n"
KEY = "listKeys(storage.id, '2024-01-01').keys[0].value"

PLANTED = [
    # syntax
    ("syntax", MAIN, "targetScope = 'subscription'", "targetScope = "),
    ("syntax", BUS, "    disableLocalAuth: true\n", "    disableLocalAuth true\n"),
    ("syntax", BUS, "resource namespace 'Microsoft", "resource 'Microsoft"),
    ("syntax", QUEUE, "  name: namespaceName\n}", "  name: namespaceName\n"),
    ("syntax", BUS, "    minimumTlsVersion: '1.2'\n", "    minimumTlsVersion: '1.2' "),
    ("syntax", IDENTITY, "param name string\n", "parameter name string\n"),
    ("syntax", BUS, "var isPrivate", "varisPrivate"),
    ("syntax", IDENTITY, "param tags object", "paramtags object"),
    ("syntax", BUS, "@batchSize(1)\nmodule topic", "@\nmodule topic"),
    ("duplicate", BUS, KEYLESS, KEYLESS + KEYLESS),
    ("duplicate", BUS, "var isPrivate =", "var zones = {}\nvar isPrivate ="),
    # symbols
    ("undefined", MAIN, "var tags = {", "var tags = {\n  owner: ownerName"),
    ("undefined", IDENTITY, "param tags object", "param tags objekt"),
    ("undefined", IDENTITY, "output clientId string", "output clientId text"),
    ("undefined", QUEUE, "name: queue.Name", "name: que.Name"),
    ("undefined", "bicep/workbook.bicep", "subTarget: tab\n", "subTarget: tabb\n"),
    ("undefined", QUEUE, "principalId: principal.id", "principalId: principle.id"),
    ("unused", MAIN, "var archives = ", "var nobody = 'needs'\nvar archives = "),
    ("unused", QUEUE, "param queue object", "param queue object\nparam more string"),
    ("unknown-function", MAIN, "toLower(uniqueString(", "toLowerCase(uniqueString("),
    ("wrong-arguments", BUS, "!empty(endpointSubnetId)", "!empty(endpointSubnetId, 'x')"),
    ("unknown-decorator", BUS, "@batchSize(1)\nmodule queue", "@batchsize(1)\nmodule queue"),
    ("wrong-place", MAIN, "var archives = 'archives'", "var archives = utcNow('yyyy')"),
    ("missing-file", ALERTS, "alert-sweep-failed.kql", "alert-sweep-fails.kql"),
    ("missing-file", BUS, "('../infra/servicebus/Config.json", "('../infra/servicebus/config.json"),
    # modules
    ("missing-file", MAIN, "'../bicep/search.bicep'", "'../bicep/serch.bicep'"),
    ("missing-parameter", MAIN, "    sku: searchSku\n", ""),
    ("unknown-parameter", MAIN, "    sku: searchSku\n", "    sku: searchSku\n    tier: 'x'\n"),
    ("wrong-type", MAIN, "    replicas: searchReplicas", "    replicas: 'two'"),
    ("wrong-type", MAIN, "preciseScaling: preciseScaling", "preciseScaling: 'yes'"),
    ("wrong-type", MAIN, "    containers: [\n      archives\n      deadLetters\n    ]", "    containers: archives"),
    ("wrong-value", MAIN, "'Premium' : 'Standard'", "'Premium' : 'Basic'"),
    ("wrong-value", MAIN, "param searchSku string = 'basic'", "param searchSku string = 'free'"),
    ("wrong-value", MAIN, "param maximumInstanceCount int = 40", "param maximumInstanceCount int = 20"),
    ("wrong-value", MAIN, "retentionInDays: logRetentionDays", "retentionInDays: 7"),
    ("unknown-property", MAIN, "monitoring.outputs.workspaceId", "monitoring.outputs.workspace"),
    ("unknown-property", MAIN, "app.outputs.uri", "app.uri"),
    ("wrong-scope", MAIN, "  name: 'cosmos'\n  scope: group\n", "  name: 'cosmos'\n"),
    ("unguarded", MAIN, "network!.outputs.appSubnetId", "network.outputs.appSubnetId"),
    ("wrong-type", "bicep/search.bicep", "output id string = service.id", "output id int = service.id"),
    # resources
    ("unknown-type", BUS, "'Microsoft.ServiceBus/namespaces@", "'Microsoft.ServiceBuss/namespaces@"),
    ("unknown-version", BUS, "namespaces@2024-01-01", "namespaces@2024-01-02"),
    ("unknown-property", BUS, "disableLocalAuth: true", "disableLocalAuthentication: true"),
    ("unknown-property", QUEUE, "lockDuration:", "lockduration:"),
    ("unknown-property", APP, "perInstanceConcurrency:", "perInstanceConcurency:"),
    ("unknown-property", ALERTS, "metricMeasureColumn:", "metricColumn:"),
    ("unknown-property", NETWORK, "registrationEnabled:", "autoRegistration:"),
    ("unknown-property", IDENTITY, "properties.clientId", "properties.clientID"),
    ("unknown-property", QUEUE, "roles['Azure Service Bus Data Sender']", "roles['Bus Sender']"),
    ("unknown-property", BUS, "zones.servicebus", "zones.serviceBus"),
    ("unknown-property", APP, "  name: componentName\n", "  name: componentName\n  location: location\n"),
    ("missing-property", BUS, "  location: location\n  tags: tags\n  sku:", "  tags: tags\n  sku:"),
    ("missing-property", COSMOS, "    databaseAccountOfferType: 'Standard'\n", ""),
    ("missing-property", ALERTS, "          name: 'dead-letters'\n", ""),
    ("missing-property", BUDGET, "    timeGrain: 'Monthly'\n", ""),
    ("missing-property", QUEUE, "  parent: namespace\n  name: queue.Name", "  name: 'parsing'"),
    ("read-only", IDENTITY, "  tags: tags\n}", "  tags: tags\n  properties: { clientId: 'x' }\n}"),
    ("read-only", BUS, KEYLESS, KEYLESS + "    status: 'Active'\n"),
    ("read-only", COSMOS, KEYLESS, KEYLESS + "    documentEndpoint: 'x'\n"),
    ("wrong-type", BUS, "disableLocalAuth: true", "disableLocalAuth: 'true'"),
    ("wrong-type", COSMOS, "failoverPriority: 0", "failoverPriority: '0'"),
    ("wrong-type", NETWORK, "[\n        addressPrefix\n      ]", "addressPrefix"),
    ("wrong-type", MAIN, "  application: 'rough-consensus'", "  application: {\n    name: 'x'\n  }"),
    ("wrong-value", COSMOS, "ConsistencyLevel: 'Session'", "ConsistencyLevel: 'session'"),
    ("wrong-value", BUDGET, "operator: 'GreaterThanOrEqualTo'", "operator: 'AtLeast'"),
    ("wrong-value", COSMOS, "type: 'Continuous'", "type: 'Never'"),
    ("wrong-value", APP, "name: 'appsettings'", "name: 'settings'"),
    ("wrong-scope", MAIN, "Resources/resourceGroups@2024-11-01", "Storage/storageAccounts@2024-01-01"),
    ("wrong-scope", IDENTITY, "metadata", "targetScope = 'subscription'\n\nmetadata"),
    ("wrong-value", APP, "var packages = 'app-package'", "var packages = 'ap'"),
    ("wrong-value", COSMOS, "failoverPriority: 0", "failoverPriority: -1"),
    ("wrong-type", QUEUE, "  parent: namespace\n", "  parent: 'namespace'\n"),
    ("wrong-type", "bicep/storage.bicep", "    parent: blobs\n", "    parent: account\n"),
    ("wrong-type", NETWORK, "parent: zone[index]", "parent: zone"),
    ("wrong-type", QUEUE, "    scope: entity\n", "    scope: 'entity'\n"),
    ("wrong-type", BUS, "      queue\n      topic\n", "      'queue'\n      topic\n"),
    ("wrong-type", "bicep/storage.bicep", "  dependsOn: [\n    blobs\n", "  dependsOn: [\n    zones\n"),
    # secrets
    ("secret", APP, "output id string = app.id", "output id string = storage.listKeys().keys[0].value"),
    ("secret", APP, "AZURE_CLIENT_ID: identityClientId", f"AZURE_CLIENT_ID: {KEY}"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "file", "right", "wrong"),
    PLANTED,
    ids=[f"{number}-{case[0]}" for number, case in enumerate(PLANTED)],
)
def test_a_planted_error_is_found(code: str, file: str, right: str, wrong: str, copied: Path) -> None:
    path = copied / file
    content = path.read_text()
    assert right in content
    path.write_text(content.replace(right, wrong, 1))

    problems = check_file(path)

    assert code in {problem.code for problem in problems}, problems


def test_an_error_of_every_kind_is_planted() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "tools" / "bicepcheck").glob("*.py"))
    kinds = set(re.findall(r'\.add\(\s*[^,]+,\s*"([a-z-]+)"', sources))

    assert kinds - {"no-schema"} == {code for code, *_ in PLANTED}  # that one has a test of its own below


def test_a_problem_names_its_file_and_line(copied: Path) -> None:
    path = copied / BUS
    lines = path.read_text().splitlines()
    line = next(number for number, text in enumerate(lines) if "disableLocalAuth: true" in text)
    lines[line] = "    disableKeys: true"
    path.write_text("\n".join(lines) + "\n")

    (problem,) = check_all(copied / MAIN)

    assert str(problem) == f"{path}:{line + 1}: unknown-property: namespace.properties has no disableKeys"


def test_a_version_that_exists_but_was_not_kept_asks_for_its_schema(copied: Path) -> None:
    path = copied / BUS
    path.write_text(path.read_text().replace("namespaces@2024-01-01", "namespaces@2021-11-01"))

    (problem,) = check_file(path)

    assert problem.code == "no-schema"
    assert "tools.azure_types" in problem.message


def test_a_file_that_ends_anywhere_is_reported_and_never_breaks_the_checker(copied: Path) -> None:
    path = copied / BUS
    lines = path.read_text().splitlines(keepends=True)
    outputs = next(number for number, line in enumerate(lines) if line.startswith("output "))
    for count in range(5, outputs, 7):  # after a whole output a file may end
        path.write_text("".join(lines[:count]))
        assert check_file(path), count
