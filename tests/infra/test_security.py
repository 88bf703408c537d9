"""Identities instead of keys, each role only for its purpose, and no public access if that is requested."""

import json
import re
from collections import Counter, defaultdict
from typing import Any

import pytest

from tests.infra.conftest import ROOT
from tests.infra.plans import (
    APPS,
    DEPLOYER,
    OPERATOR,
    PARTS,
    WAYS,
    app,
    app_settings,
    of_type,
    planned,
    the,
)
from tools.bicepcheck.evaluate import Planned

ROLES: dict[str, str] = json.loads((ROOT / "infra/roles.json").read_text())
NAMES = {id_: name for name, id_ in ROLES.items()}
BUS = "Microsoft.ServiceBus/namespaces"
QUEUES = [
    "ingestion",
    "parsing",
    "chunking",
    "embedding",
    "orchestration",
    "summarization",
    "reporting",
    "failures",
    "operations",
    "removal",
    "deliveries",
]
DIRECT = "direct-uploads"
PRIVATE = {
    BUS: "Disabled",
    "Microsoft.DocumentDB/databaseAccounts": "Disabled",
    "Microsoft.Search/searchServices": "Disabled",
    "Microsoft.KeyVault/vaults": "Disabled",
    "Microsoft.Storage/storageAccounts": "Disabled",
    "Microsoft.CognitiveServices/accounts": "Disabled",
}


def grants(way: str, principal: str) -> set[tuple[str, str, str]]:
    """Return (role, type of the scope, name of the scope) of each role that the principal gets."""
    found = set()
    for assignment in of_type(way, "Microsoft.Authorization/roleAssignments"):
        properties = assignment.properties
        if properties["principalId"] == principal:
            kind, _, id_ = properties["roleDefinitionId"].rpartition("/")
            assert kind == "/Microsoft.Authorization/roleDefinitions"
            role = NAMES[id_]
            found.add((role, assignment.scope.type, assignment.scope.name))
    return found


STORAGE, SEARCH = "Microsoft.Storage/storageAccounts", "Microsoft.Search/searchServices"
BLOBS = f"{STORAGE}/blobServices/containers"
OF_BOTH = {
    ("Reader", SEARCH, "search-abcdefghijklm"),
    ("Storage Blob Data Contributor", BLOBS, "archives"),
    ("Monitoring Metrics Publisher", "Microsoft.Insights/components", "appi-abcdefghijklm"),
}
EXPECTED = {
    "web": {
        *OF_BOTH,
        # A page peeks at dead letters. A requeue of a dead letter sends it to its queue.
        *(("Azure Service Bus Data Receiver", f"{BUS}/queues", queue) for queue in QUEUES),
        *(("Azure Service Bus Data Sender", f"{BUS}/queues", queue) for queue in QUEUES),
        ("Azure Service Bus Data Sender", f"{BUS}/topics", "events"),
        ("Search Index Data Reader", SEARCH, "search-abcdefghijklm"),
        ("Storage Blob Data Reader", BLOBS, "dead-letters"),
    },
    "worker": {
        *OF_BOTH,
        # Only the right to manage the namespace lets the scaler read the number of active messages.
        ("Azure Service Bus Data Owner", BUS, "bus-abcdefghijklm"),
        ("Search Index Data Contributor", SEARCH, "search-abcdefghijklm"),
        ("Storage Blob Data Contributor", BLOBS, "dead-letters"),
    },
}


def expected_grants(part: str) -> set[tuple[str, str, str]]:
    """Return the roles that the app of this part needs, with their scopes."""
    own = {"web": "stwebabcdefghijklm", "worker": "stworkabcdefghijklm"}[part]
    host = {"Storage Blob Data Owner", "Storage Queue Data Contributor", "Storage Table Data Contributor"}
    return EXPECTED[part] | {(role, STORAGE, own) for role in host}


@pytest.mark.parametrize("part", PARTS)
def test_an_app_gets_each_role_where_it_needs_it_and_no_more(part: str) -> None:
    model = ("Cognitive Services OpenAI User", "Microsoft.CognitiveServices/accounts", "openai-abcdefghijklm")
    own_secret = {"web": "OPERATOR-KEY", "worker": "SOURCE-SECRET-LIST"}[part]
    secret = ("Key Vault Secrets User", "Microsoft.KeyVault/vaults/secrets", own_secret)

    assert grants("plain", APPS[part]) == expected_grants(part)
    assert grants("full", APPS[part]) == expected_grants(part) | {model, secret}


def test_the_web_app_can_neither_own_the_bus_nor_write_the_index() -> None:
    roles = {role for role, _, _ in grants("full", APPS["web"])}

    assert roles.isdisjoint({"Azure Service Bus Data Owner", "Search Index Data Contributor"})
    assert "Search Index Data Reader" in roles


def test_the_table_of_the_docs_has_the_roles_of_each_identity() -> None:
    table = (ROOT / "docs/deploy.md").read_text().partition("\n## Roles\n")[2].partition("\n## ")[0]
    told = defaultdict[str, set[str]](set)
    for who, roles in re.findall(
        r"^\| (web|worker|operator|whoever deploys) \| ([^|]+) \|", table, re.MULTILINE
    ):
        told[who] |= set(roles.split(", "))
    cosmos = {
        "Cosmos DB Built-in Data Contributor"
        for way in ("full", DIRECT)
        for found in of_type(way, "Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments")
        if found.properties["roleDefinitionId"].endswith("/00000000-0000-0000-0000-000000000002")
    }
    deployed = [assigned("full"), assigned(DIRECT), assigned("deployer")]

    for part in PARTS:
        assert told[part] == cosmos.union(*(roles[APPS[part]] for roles in deployed))
    assert told["operator"] == cosmos | deployed[0][OPERATOR]
    assert told["whoever deploys"] == deployed[2][DEPLOYER]


def assigned(way: str) -> defaultdict[str, set[str]]:
    """Return the names of the roles that each identity gets."""
    found = defaultdict[str, set[str]](set)
    for assignment in of_type(way, "Microsoft.Authorization/roleAssignments"):
        id_ = assignment.properties["roleDefinitionId"].rpartition("/")[2]
        found[assignment.properties["principalId"]].add(NAMES[id_])
    return found


def test_nobody_else_gets_a_role_unless_an_operator_is_named() -> None:
    principals = {
        resource.properties["principalId"]
        for resource in of_type("plain", "Microsoft.Authorization/roleAssignments")
    }

    assert principals == {*APPS.values()}
    assert grants("plain", OPERATOR) == set()


def test_an_operator_can_work_on_messages_documents_and_the_index_but_not_on_the_host() -> None:
    roles = {(role, type_) for role, type_, _ in grants("full", OPERATOR)}

    assert ("Azure Service Bus Data Sender", f"{BUS}/topics") in roles
    for role in ("Azure Service Bus Data Sender", "Azure Service Bus Data Receiver"):
        assert {name for found, type_, name in grants("full", OPERATOR) if found == role} >= set(QUEUES)
    assert BUS not in {type_ for _, type_ in roles}
    assert ("Search Index Data Contributor", "Microsoft.Search/searchServices") in roles
    assert not {role for role, type_ in roles if type_ == "Microsoft.Storage/storageAccounts"}
    assert {type_ for _, type_ in roles}.isdisjoint({"Microsoft.Insights/components"})


def test_documents_are_open_to_the_same_principals_within_the_database() -> None:
    assignments = of_type("full", "Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments")

    assert {found_assignment.properties["principalId"] for found_assignment in assignments} == {
        *APPS.values(),
        OPERATOR,
    }
    for assignment in assignments:
        assert assignment.properties["scope"].endswith("/cosmos-abcdefghijklm/dbs/consensus")
        assert assignment.properties["roleDefinitionId"].endswith("/00000000-0000-0000-0000-000000000002")


def test_every_role_of_the_list_is_used_and_is_a_guid() -> None:
    used = {
        resource.properties["roleDefinitionId"].rpartition("/")[2]
        for way in (*WAYS, DIRECT)
        for resource in of_type(way, "Microsoft.Authorization/roleAssignments")
    }

    assert used == set(ROLES.values())
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", id_) for id_ in ROLES.values())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.requirement("R-1103")
def test_no_service_takes_a_key(way: str) -> None:
    by_type = Counter[str]()
    for resource in planned(way)[0]:
        properties = resource.properties
        by_type[resource.type] += 1
        if resource.type == "Microsoft.Storage/storageAccounts":
            assert properties["allowSharedKeyAccess"] is False
            assert properties["allowBlobPublicAccess"] is False
        elif resource.type == "Microsoft.Insights/components":
            assert properties["DisableLocalAuth"] is True
        elif resource.type == "Microsoft.KeyVault/vaults":
            assert properties["enableRbacAuthorization"] is True
        elif resource.type in PRIVATE:
            assert properties["disableLocalAuth"] is True, resource.type
        elif resource.type == "Microsoft.Web/sites/basicPublishingCredentialsPolicies":
            assert properties["allow"] is False
    assert by_type["Microsoft.Storage/storageAccounts"] == 3
    assert by_type["Microsoft.Web/sites/basicPublishingCredentialsPolicies"] == 4


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.requirement("R-1103")
def test_no_output_and_no_setting_holds_a_secret(way: str, part: str) -> None:
    _, outputs = planned(way)
    settings = app_settings(way, part)
    suspicious = re.compile(r"key|secret|password|SharedAccess|sig=", re.IGNORECASE)

    for name, value in {**outputs, **settings}.items():
        is_reference = str(value).startswith("@Microsoft.KeyVault(")
        assert is_reference or not suspicious.search(f"{name}={value}"), name
    connections = {name for name in settings if "CONNECTION" in name and "__" not in name}
    assert connections == {"APPLICATIONINSIGHTS_CONNECTION_STRING"}  # an address: local authentication is off


@pytest.mark.parametrize("way", WAYS)
def test_traffic_is_encrypted_with_a_current_tls(way: str) -> None:
    for part in PARTS:
        assert app(way, part).properties["httpsOnly"] is True
        assert app(way, part).properties["siteConfig"]["ftpsState"] == "Disabled"
    assert the(way, BUS).properties["minimumTlsVersion"] == "1.2"
    for account in of_type(way, "Microsoft.Storage/storageAccounts"):
        assert account.properties["minimumTlsVersion"] == "TLS1_2"
        assert account.properties["supportsHttpsTrafficOnly"] is True


def endpoints() -> dict[str, Planned]:
    return {resource.name: resource for resource in of_type("private", "Microsoft.Network/privateEndpoints")}


def test_the_network_switch_takes_every_data_service_off_the_internet() -> None:
    for type_, closed in PRIVATE.items():
        for resource in of_type("private", type_):
            assert resource.properties["publicNetworkAccess"] == closed, resource.name
    reached = Counter(
        endpoint.properties["privateLinkServiceConnections"][0]["properties"]["privateLinkServiceId"]
        for endpoint in endpoints().values()
    )
    data_services = [found_resource.id for type_ in PRIVATE for found_resource in of_type("private", type_)]
    assert set(reached) == set(data_services)


def test_direct_uploads_open_the_account_of_the_archives_and_nothing_else_to_the_sites_own_pages() -> None:
    archives = "stabcdefghijklm"
    accounts = {account.name: account for account in of_type(DIRECT, "Microsoft.Storage/storageAccounts")}
    assert accounts[archives].properties["publicNetworkAccess"] == "Enabled"
    assert accounts[archives].properties["networkAcls"]["defaultAction"] == "Allow"
    assert accounts[archives].properties["allowSharedKeyAccess"] is False
    for host in ("stwebabcdefghijklm", "stworkabcdefghijklm"):
        assert accounts[host].properties["publicNetworkAccess"] == "Disabled"
    for type_ in PRIVATE.keys() - {"Microsoft.Storage/storageAccounts"}:
        for resource in of_type(DIRECT, type_):
            assert resource.properties["publicNetworkAccess"] == "Disabled", resource.name
    more = {part: grants(DIRECT, APPS[part]) - grants("private", APPS[part]) for part in PARTS}
    assert more.pop("worker") == set()
    assert more["web"] == {("Storage Blob Delegator", "Microsoft.Storage/storageAccounts", archives)}
    (rule,) = cors(DIRECT, archives)
    assert rule["allowedOrigins"] == [
        "https://web-abcdefghijklm.azurewebsites.net", "https://lists.example.org"
    ]  # fmt: skip
    assert rule["allowedMethods"] == ["PUT"]
    assert app_settings(DIRECT, "web")["DIRECT_UPLOADS"].lower() == "true"


@pytest.mark.parametrize("way", WAYS)
def test_without_direct_uploads_no_page_may_write_to_an_account(way: str) -> None:
    assert cors(way, "stabcdefghijklm") == []
    assert "Storage Blob Delegator" not in {role for role, _, _ in grants(way, APPS["web"])}
    assert app_settings(way, "web")["DIRECT_UPLOADS"].lower() == "false"


def cors(way: str, account: str) -> list[dict[str, Any]]:
    (service,) = [
        service
        for service in of_type(way, "Microsoft.Storage/storageAccounts/blobServices")
        if service.parent is not None and service.parent.name == account
    ]
    rules: list[dict[str, Any]] = service.properties["cors"]["corsRules"]
    return rules


def test_every_private_endpoint_has_a_zone_that_the_network_resolves_by() -> None:
    zones = {zone.id for zone in of_type("private", "Microsoft.Network/privateDnsZones")}
    linked = {
        link.parent.id
        for link in of_type("private", "Microsoft.Network/privateDnsZones/virtualNetworkLinks")
        if link.parent
    }
    groups = of_type("private", "Microsoft.Network/privateEndpoints/privateDnsZoneGroups")

    assert linked == zones
    assert len(groups) == len(endpoints()) == 12
    for group in groups:
        (config,) = group.properties["privateDnsZoneConfigs"]
        assert config["properties"]["privateDnsZoneId"] in zones


def test_the_apps_reach_the_private_endpoints_through_a_subnet_of_their_own() -> None:
    (subnet_of_apps,) = {app("private", part).properties["virtualNetworkSubnetId"] for part in PARTS}
    (vnet,) = of_type("private", "Microsoft.Network/virtualNetworks")
    subnets = {subnet["name"]: subnet["properties"] for subnet in vnet.properties["subnets"]}

    assert subnet_of_apps == f"{vnet.id}/subnets/app"
    assert subnets["app"]["delegations"][0]["properties"]["serviceName"] == "Microsoft.App/environments"
    assert subnets["app"]["addressPrefix"] != subnets["endpoints"]["addressPrefix"]
    assert {endpoint.properties["subnet"]["id"] for endpoint in endpoints().values()} == {
        f"{vnet.id}/subnets/endpoints"
    }


def test_without_the_switch_there_is_no_network_and_service_bus_is_standard() -> None:
    assert not [
        resource for resource in planned("plain")[0] if resource.type.startswith("Microsoft.Network/")
    ]
    assert the("plain", BUS).body["sku"] == {"name": "Standard", "tier": "Standard", "capacity": None}
    assert the("private", BUS).body["sku"] == {"name": "Premium", "tier": "Premium", "capacity": 1}


def test_with_entra_the_web_app_lets_in_accounts_alone_and_holds_no_secret_for_it() -> None:
    (auth,) = [
        config for config in of_type("entra", "Microsoft.Web/sites/config") if "v2" in config.name.lower()
    ]
    validation = auth.properties["globalValidation"]
    registration = auth.properties["identityProviders"]["azureActiveDirectory"]["registration"]
    settings = app_settings("entra", "web")

    assert auth.parent is not None
    assert auth.parent.name == "web-abcdefghijklm"
    assert validation["requireAuthentication"] is True
    assert validation["unauthenticatedClientAction"] == "RedirectToLoginPage"
    assert "/api/health" in validation["excludedPaths"]
    assert settings[registration["clientSecretSettingName"]] == settings["AZURE_CLIENT_ID"]
    assert not [
        config for config in of_type("plain", "Microsoft.Web/sites/config") if "v2" in config.name.lower()
    ]


def test_packages_come_from_the_addresses_that_are_named() -> None:
    for part in PARTS:
        config = app("entra", part).properties["siteConfig"]
        assert config["scmIpSecurityRestrictionsDefaultAction"] == "Deny"
        assert [rule["ipAddress"] for rule in config["scmIpSecurityRestrictions"]] == ["203.0.113.0/24"]
        assert (
            app("plain", part).properties["siteConfig"]["scmIpSecurityRestrictionsDefaultAction"] == "Allow"
        )


def test_each_access_to_documents_and_blobs_is_logged_where_accounts_are_asked_for() -> None:
    def logged(way: str) -> set[str]:
        return {
            log["category"]
            for setting in of_type(way, "Microsoft.Insights/diagnosticSettings")
            for log in setting.properties.get("logs", [])
            if log["enabled"]
        }

    assert logged("entra") - logged("plain") == {"DataPlaneRequests", "StorageRead", "StorageWrite"}
