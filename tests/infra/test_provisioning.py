"""Provisioning again, also from the pipeline, keeps the chosen values and changes nothing that Azure forbids."""

import base64
import json
import re
from typing import Any

import pytest
import yaml

from shared.settings.app import Settings, load_settings
from tests.infra.azd import (
    DECLARED,
    WRITTEN,
    Deployment,
    Provider,
    effective,
    names_read,
    parameters_of,
    pipeline,
    provision,
    workflow_environment,
)
from tests.infra.conftest import ROOT
from tests.infra.plans import APPS

FRESH = {"AZURE_ENV_NAME": "demo", "AZURE_LOCATION": "swedencentral", "AZURE_SUBSCRIPTION_ID": "sub"}
PERSON = Provider()
CI = Provider("cccccccc-0000-0000-0000-00000000000c", "ServicePrincipal")
OTHERS = Provider("bbbbbbbb-0000-0000-0000-00000000000b")
WEBHOOKS = [{"name": "chat", "url": "https://example.org/hook", "secret": "s" * 32}]
# A value other than the default, for each variable that a parameter reads.
CHANGED = {
    **FRESH,
    "AZURE_RESOURCE_GROUP": "rg-other",
    "PROFILE": "low-cost",
    "OPERATOR_PRINCIPAL_ID": "eeeeeeee-0000-0000-0000-00000000000e",
    "OPERATOR_PRINCIPAL_TYPE": "Group",
    "REQUEST_SECONDS": "3",
    "SLO_REPORT_MINUTES": "90",
    "VNET_ENABLED": "true",
    "VNET_ADDRESS_PREFIX": "10.30.0.0/16",
    "COSMOS_DATABASE": "consensus2",
    "COSMOS_MODE": "autoscale",
    "COSMOS_MAX_THROUGHPUT": "4000",
    "SEARCH_SKU": "standard",
    "SEARCH_REPLICAS": "2",
    "SEARCH_PARTITIONS": "3",
    "SERVICEBUS_PREMIUM": "true",
    "SERVICEBUS_UNITS": "2",
    "OPENAI_ENABLED": "true",
    "OPENAI_MODEL_NAME": "gpt-5-mini",
    "OPENAI_MODEL_VERSION": "2025-08-07",
    "OPENAI_DEPLOYMENT_TYPE": "Standard",
    "OPENAI_CAPACITY": "20",
    "INSTANCE_MEMORY_MB": "4096",
    "WEB_INSTANCE_COUNT": "10",
    "WORKER_INSTANCE_COUNT": "60",
    "AUTH_MODE": "entra",
    "AUTH_CLIENT_ID": "dddddddd-0000-0000-0000-00000000000d",
    "SCM_ALLOWED_ADDRESSES": "203.0.113.0/24",
    "DATA_ACCESS_LOGS": "true",
    "SITE_UPDATE_STRATEGY": "RollingUpdate",
    "HTTP_CONCURRENCY": "8",
    "EMBEDDING_ALWAYS_READY": "2",
    "STORAGE_SKU": "Standard_ZRS",
    "COOL_AFTER_DAYS": "60",
    "RESTORABLE_DAYS": "30",
    "LOG_RETENTION_DAYS": "90",
    "LOG_DAILY_CAP_GB": "-1",
    "TELEMETRY_SAMPLING_RATIO": "0.5",
    "ALERT_EMAIL": "ops@example.org",
    "BUDGET_AMOUNT": "150",
    "BUDGET_START_DATE": "2026-03-01T00:00:00Z",
    "DIRECT_UPLOADS": "true",
    "PURGE_PROTECTION": "true",
    "OPERATOR_KEY": "k" * 24,
    "EMBEDDING_API_KEY": "e" * 24,
    "SUMMARY_API_KEY": "y" * 24,
    "WEBHOOKS_BASE64": base64.b64encode(json.dumps(WEBHOOKS).encode()).decode(),
    "SOURCE_SECRETS_BASE64": base64.b64encode(json.dumps({"SOURCE_SECRET_LIST": "s" * 8}).encode()).decode(),
    "ARCHIVE_MAX_BYTES": "1000000",
    "CHUNKING_MAX_TOKENS": "200",
    "CHUNKING_STRATEGY": "semantic",
    "EMBEDDING_BACKEND": "openai",
    "EMBEDDING_DIMENSION": "1536",
    "EMBEDDING_ENDPOINT": "https://models.example.org/v1",
    "EMBEDDING_MODEL": "text-embedding-3-small",
    "EMBEDDING_MODEL_PATH": "models/other",
    "ORCHESTRATION_QUIET_SECONDS": "60",
    "PUBLIC_URL": "https://consensus.example.org",
    "RETRY_BACKOFF_FACTOR": "3",
    "RETRY_BASE_DELAY_MS": "500",
    "RETRY_JOB_BASE_DELAY_SECONDS": "600",
    "RETRY_JOB_INTERVAL_SECONDS": "1800",
    "RETRY_JOB_MAX_ATTEMPTS_ARCHIVES": "4",
    "RETRY_JOB_MAX_ATTEMPTS_CHUNKS": "6",
    "RETRY_JOB_MAX_ATTEMPTS_MESSAGES": "4",
    "RETRY_JOB_MAX_ATTEMPTS_THREADS": "6",
    "RETRY_JOB_MAX_DELAY_SECONDS": "7200",
    "RETRY_JOB_STUCK_THRESHOLD_HOURS": "12",
    "RETRY_MAX_ATTEMPTS": "6",
    "RETRY_MAX_DELAY_SECONDS": "30",
    "RETRY_TTL_MINUTES": "20",
    "SEARCH_INDEX": "other_embeddings",
    "PEOPLE_PAGES": "true",
    "EMAIL_FROM": "digests@example.org",
    "EMAIL_SECRET": "of sixteen characters",
    "SMTP_URL": "smtps://digests:a%20password@mail.example.org",
    "RATE_LIMITS": "search=120,raw=10",
    "SEARCH_ENGINES": "true",
    "SHOW_ADDRESSES": "true",
    "SOURCE_ALLOWED_HOSTS": "lists.example.org",
    "SUMMARY_ARCHIVE_TOKENS": "100000",
    "SUMMARY_BACKEND": "openai",
    "SUMMARY_CONTEXT_TOKENS": "4000",
    "SUMMARY_ENDPOINT": "https://models.example.org/v1",
    "SUMMARY_MODEL": "small",
    "SUMMARY_TIMEOUT_SECONDS": "60",
    "WEBHOOK_ALLOWED_HOSTS": "example.org",
}  # fmt: skip
# The deployment computes FOUND_OUT itself, and only a local machine may have LOCAL.
FOUND_OUT = {
    "SERVICEBUS_CONNECTION__fullyQualifiedNamespace", "COSMOS_ENDPOINT", "COSMOS_DATABASE",
    "SEARCH_ENDPOINT", "STORAGE_BLOB_ENDPOINT", "AZURE_CLIENT_ID", "TELEMETRY_SAMPLING_RATIO",
    "DIRECT_UPLOADS", "APP_PART", "AUTH_MODE",
}  # fmt: skip
LOCAL = {
    "SERVICEBUS_CONNECTION", "SERVICEBUS_ADMIN_ENDPOINT", "COSMOS_KEY", "SEARCH_KEY", "SEARCH_CA_FILE",
    "STORAGE_CONNECTION", "ALLOW_LOCAL_SOURCES", "SERVICEBUS_MAX_CONNECTIONS", "FUNCTIONS_URL"}  # fmt: skip
AZURE: dict[str, Any] = yaml.safe_load((ROOT / "azure.yaml").read_text())


def from_ci(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment of a workflow run, in a repository configured from this environment."""
    return workflow_environment(*pipeline(environment))


def without_who(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if not name.startswith("deployer")}


def test_every_variable_of_the_list_is_changed_here() -> None:
    """Otherwise the tests below would compare defaults."""
    own = {"AZURE_PRINCIPAL_ID", "AZURE_PRINCIPAL_TYPE"}

    assert CHANGED.keys() - {"AZURE_SUBSCRIPTION_ID"} == names_read().keys() - own
    assert {name for name, default in names_read().items() if CHANGED.get(name) == default} == set()


def test_the_pipeline_carries_all_that_the_parameters_read_and_the_workflow_passes_it_on() -> None:
    carried, secrets = pipeline(CHANGED)
    passed = from_ci(CHANGED)

    wanted = names_read().keys() - {"AZURE_PRINCIPAL_ID", "AZURE_PRINCIPAL_TYPE"}
    assert carried.keys() | secrets.keys() >= wanted
    assert {name for name in wanted if not passed.get(name)} == set()


def test_secrets_are_carried_as_secrets_and_nothing_else_is() -> None:
    carried, secrets = pipeline(CHANGED)
    secure = [name for name, parameter in DECLARED.items() if "secure" in parameter.decorators]
    read = {re.findall(r"\w+", WRITTEN[name]["value"])[0] for name in secure}

    assert secrets.keys() == read
    assert carried.keys().isdisjoint(read)


def test_every_setting_of_the_app_can_be_set_or_is_found_out() -> None:
    kept = {
        secret.properties["contentType"]
        for secret in provision(dict(CHANGED)).of_type("Microsoft.KeyVault/vaults/secrets")
    }
    settable = {
        name for name in (*WRITTEN["appSettings"]["value"], *kept) if not name.startswith("SOURCE_SECRET_")
    }

    assert settable | FOUND_OUT | LOCAL == set(Settings.model_fields)
    assert settable.isdisjoint(FOUND_OUT | LOCAL)


@pytest.mark.parametrize("environment", [FRESH, CHANGED], ids=["fresh", "changed"])
def test_a_pipeline_provisions_what_a_person_provisions(environment: dict[str, str]) -> None:
    by_hand = parameters_of(environment, PERSON)
    by_ci = parameters_of(from_ci(environment), CI)

    assert without_who(effective(by_ci)) == without_who(effective(by_hand))
    assert by_ci["deployerPrincipalType"] == "ServicePrincipal"


def test_each_value_that_was_chosen_arrives() -> None:
    fresh, changed = parameters_of(FRESH, PERSON), parameters_of(CHANGED, PERSON)
    same = {name for name in DECLARED if fresh.get(name) == changed.get(name)}

    assert same == {
        "environmentName",
        "location",
        "deployerPrincipalId",
        "deployerPrincipalType",
        "currentMonth",
    }


def test_what_is_set_up_by_hand_is_the_same_after_a_push() -> None:
    environment = dict(CHANGED)
    first = provision(environment)
    pushed = provision(from_ci(environment), CI, month="2027-02", present=first.app_settings)

    assert pushed.app_settings == first.app_settings
    for type_ in (
        "Microsoft.Search/searchServices",
        "Microsoft.ServiceBus/namespaces",
        "Microsoft.Web/sites",
    ):
        bodies = [[found.body for found in deployed.of_type(type_)] for deployed in (first, pushed)]
        assert bodies[0] == bodies[1] != []


def test_a_word_that_is_no_number_falls_back_to_the_default_as_azd_has_it() -> None:
    assert "searchReplicas" not in parameters_of({**FRESH, "SEARCH_REPLICAS": "two"}, PERSON)


def test_a_budget_keeps_its_first_day() -> None:
    environment = {**FRESH, "BUDGET_AMOUNT": "100"}
    budget = "Microsoft.Consumption/budgets"
    days = [
        provision(environment, month=month).the(budget).properties["timePeriod"]["startDate"]
        for month in ("2026-11", "2026-12", "2027-11")
    ]
    in_ci = provision(from_ci(environment), CI, month="2028-01").the(budget)

    assert days == ["2026-11-01T00:00:00Z"] * 3
    assert in_ci.properties["timePeriod"]["startDate"] == days[0]


def test_a_budgets_first_day_can_be_chosen() -> None:
    deployed = provision({**FRESH, "BUDGET_AMOUNT": "9", "BUDGET_START_DATE": "2027-01-01T00:00:00Z"})

    assert (
        deployed.the("Microsoft.Consumption/budgets")
        .properties["timePeriod"]["startDate"]
        .startswith("2027-01")
    )


def test_a_setting_that_somebody_added_survives_and_one_of_ours_is_ours() -> None:
    environment = dict(FRESH)
    first = provision(environment)
    by_hand = {
        "SOURCE_SECRET_LIST": "@Microsoft.KeyVault(x)",
        "WEBSITE_TIME_ZONE": "UTC",
        "SEARCH_ENDPOINT": "wrong",
    }
    second = provision(environment, present={**first.app_settings, **by_hand})

    assert second.app_settings == {
        **first.app_settings,
        **by_hand,
        "SEARCH_ENDPOINT": first.app_settings["SEARCH_ENDPOINT"],
    }


def test_what_the_deployment_set_and_does_not_set_any_more_is_taken_back() -> None:
    chosen = {**FRESH, "OPENAI_ENABLED": "true", "PUBLIC_URL": "https://old.example.org"}
    first = provision(dict(chosen))
    second = provision(dict(FRESH), present=first.app_settings)

    assert {"SUMMARY_ENDPOINT", "SUMMARY_BACKEND", "PUBLIC_URL"} <= first.app_settings.keys()
    assert second.app_settings == provision(dict(FRESH)).app_settings


def test_a_secret_stays_where_a_deployment_does_not_know_it() -> None:
    first = provision({**FRESH, "OPERATOR_KEY": "k" * 24})
    second = provision(dict(FRESH), CI, present=first.settings_of("web"))

    assert second.settings_of("web")["OPERATOR_KEY"].startswith("@Microsoft.KeyVault(")
    assert second.settings_of("web")["OPERATOR_KEY"] == first.settings_of("web")["OPERATOR_KEY"]


def test_secrets_are_in_the_vault_and_the_app_may_read_them() -> None:
    deployed = provision(dict(CHANGED))
    vault = deployed.the("Microsoft.KeyVault/vaults")
    kept = {
        secret.properties["contentType"]: secret
        for secret in deployed.of_type("Microsoft.KeyVault/vaults/secrets")
    }

    of_both = {"EMAIL_SECRET", "EMBEDDING_API_KEY", "SUMMARY_API_KEY"}
    read = {
        "web": {"OPERATOR_KEY", *of_both},
        "worker": {"SMTP_URL", "WEBHOOKS", "SOURCE_SECRET_LIST", *of_both},
    }
    assert kept.keys() == read["web"] | read["worker"]
    for part, names in read.items():
        settings = deployed.settings_of(part)
        references = {name: value for name, value in settings.items() if value.startswith("@Microsoft.Key")}
        assert references == {
            name: f"@Microsoft.KeyVault(VaultName={vault.name};SecretName={kept[name].name})"
            for name in names
        }
        assert {name for _, name in readers(deployed, APPS[part])} == {kept[name].name for name in names}
    assert all(re.fullmatch(r"[0-9A-Za-z-]{1,127}", secret.name) for secret in kept.values())
    assert json.loads(kept["WEBHOOKS"].properties["value"]) == WEBHOOKS
    for site in deployed.of_type("Microsoft.Web/sites"):
        part = site.body["tags"]["azd-service-name"]
        assert site.properties["keyVaultReferenceIdentity"].endswith(f"/id-{part}-abcdefghijklm")
        values = deployed.settings_of(part).values()
        assert not [value for value in values if value in CHANGED["OPERATOR_KEY"]]


def readers(deployed: Deployment, principal: str) -> set[tuple[str, str]]:
    """Return (type, name) of each item that the principal may read in the vault."""
    return {
        (found.scope.type, found.scope.name)
        for found in deployed.of_type("Microsoft.Authorization/roleAssignments")
        if found.properties["principalId"] == principal and found.scope.type.startswith("Microsoft.KeyVault")
    }


def test_a_secret_that_azd_refers_to_in_a_vault_is_the_same_as_one_in_the_environment() -> None:
    """References of `azd env set-secret` keep plain secrets out of .azure."""
    names = AZURE["pipeline"]["secrets"]
    references = {name: f"akvs://sub/vault/{name}" for name in names}
    kept = {reference: CHANGED[name] for name, reference in references.items()}
    secrets = [
        {secret.name: secret.properties for secret in deployed.of_type("Microsoft.KeyVault/vaults/secrets")}
        for deployed in (provision({**CHANGED, **references}, kept=kept), provision(dict(CHANGED)))
    ]

    assert len(secrets[0]) == len(names)
    assert secrets[0] == secrets[1]


def test_the_code_starts_with_every_setting_changed() -> None:
    environment = {name: value for name, value in CHANGED.items() if name != "OPENAI_ENABLED"}
    given = provision(environment).app_settings
    secrets = {"WEBHOOKS": json.dumps(WEBHOOKS), "SMTP_URL": CHANGED["SMTP_URL"], "OPERATOR_KEY": "k" * 24}
    known = {name: "https://in.azure/" if value.startswith("[") else value for name, value in given.items()}

    loaded = load_settings({**known, **secrets})

    assert loaded.RETRY_JOB_MAX_ATTEMPTS_CHUNKS == 6
    assert loaded.PUBLIC_URL == "https://consensus.example.org"


def test_a_vault_can_be_made_anew_unless_it_was_asked_to_be_kept() -> None:
    def protection(deployment: Deployment) -> object:
        return deployment.the("Microsoft.KeyVault/vaults").properties["enablePurgeProtection"]

    assert protection(provision({**FRESH, "PROFILE": "trial"})) is None  # Azure refuses false
    assert protection(provision({**FRESH, "PURGE_PROTECTION": "false"})) is None
    assert protection(provision({**FRESH, "PROFILE": "trial", "PURGE_PROTECTION": "true"})) is True
    assert protection(provision(dict(FRESH))) is True


def test_a_person_who_deploys_operates_and_a_pipeline_does_not() -> None:
    def documents_of(deployment: Deployment) -> set[str]:
        assignments = deployment.of_type("Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments")
        return {assignment.properties["principalId"] for assignment in assignments} - {*APPS.values()}

    assert documents_of(provision(dict(FRESH), PERSON)) == {PERSON.principal_id}
    assert documents_of(provision(dict(FRESH), CI)) == set()
    named = {**FRESH, "OPERATOR_PRINCIPAL_ID": "group", "OPERATOR_PRINCIPAL_TYPE": "Group"}
    assert (
        documents_of(provision(dict(named), PERSON)) == documents_of(provision(dict(named), CI)) == {"group"}
    )


@pytest.mark.parametrize("who", [PERSON, CI, OTHERS], ids=["person", "pipeline", "colleague"])
def test_whoever_deploys_may_make_the_index_and_the_app_may_not(who: Provider) -> None:
    roles = json.loads((ROOT / "infra/roles.json").read_text())
    deployed = provision({**FRESH, "OPERATOR_PRINCIPAL_ID": PERSON.principal_id}, who)
    search = [
        assignment.properties
        for assignment in deployed.of_type("Microsoft.Authorization/roleAssignments")
        if assignment.scope.type == "Microsoft.Search/searchServices"
    ]
    holders = {
        name: {grant["principalId"] for grant in search if grant["roleDefinitionId"].endswith(id_)}
        for name, id_ in roles.items()
    }

    assert holders["Search Service Contributor"] == {who.principal_id, PERSON.principal_id}
    assert holders["Search Index Data Contributor"] == {
        APPS["worker"], who.principal_id, PERSON.principal_id
    }  # fmt: skip
    assert holders["Search Index Data Reader"] == {APPS["web"]}
    assert holders["Reader"] == {*APPS.values()}
    assert len({json.dumps(grant, sort_keys=True) for grant in search}) == len(search)


def test_cosmos_roles_are_given_one_after_the_other() -> None:
    assignments = provision(dict(FRESH)).of_type("Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments")

    assert len(assignments) == 3
    assert all(assignment.serial for assignment in assignments)


def test_the_longest_environment_name_still_fits() -> None:
    longest = "e" * 64
    deployed = provision({**CHANGED, "AZURE_ENV_NAME": longest, "AZURE_RESOURCE_GROUP": ""})
    limits = {
        "Microsoft.Consumption/budgets": 63,
        "Microsoft.Resources/resourceGroups": 90,
        "Microsoft.KeyVault/vaults": 24,
        "Microsoft.Storage/storageAccounts": 24,
        "Microsoft.Search/searchServices": 60,
        "Microsoft.ServiceBus/namespaces": 50,
        "Microsoft.DocumentDB/databaseAccounts": 44,
        "Microsoft.Web/sites": 60,
        "Microsoft.Insights/actionGroups": 260,
        "Microsoft.Insights/metricAlerts": 260,
        "Microsoft.Insights/scheduledQueryRules": 260,
    }
    for type_, limit in limits.items():
        found = deployed.of_type(type_)
        assert found, type_
        assert {resource.name for resource in found if len(resource.name) > limit} == set()


def test_a_region_is_one_of_the_list_and_archives_are_copied_to_zones_where_it_has_some() -> None:
    regions: dict[str, dict[str, bool]] = json.loads((ROOT / "infra/regions.json").read_text())

    assert DECLARED["location"].allowed == list(regions)
    for name in ("swedencentral", "westus"):
        deployed = provision({**FRESH, "AZURE_LOCATION": name})
        skus = {
            account.body["sku"]["name"] for account in deployed.of_type("Microsoft.Storage/storageAccounts")
        }
        assert ("Standard_ZRS" in skus) is regions[name]["zones"], name
    assert regions["swedencentral"]["zones"] is not regions["westus"]["zones"]


def test_the_low_cost_profile_keeps_nothing_warm_and_copies_nothing_to_zones() -> None:
    low = provision({**FRESH, "PROFILE": "low-cost"})
    scales = [
        site.properties["functionAppConfig"]["scaleAndConcurrency"]
        for site in low.of_type("Microsoft.Web/sites")
    ]

    assert [scale["alwaysReady"] for scale in scales] == [[], []]
    assert {account.body["sku"]["name"] for account in low.of_type("Microsoft.Storage/storageAccounts")} == {
        "Standard_LRS"
    }
    assert low.the("Microsoft.Search/searchServices").body["sku"]["name"] == "basic"
    assert float(low.app_settings["TELEMETRY_SAMPLING_RATIO"]) < 1


def test_what_is_set_goes_before_the_profile() -> None:
    chosen = {"SEARCH_SKU": "free", "EMBEDDING_ALWAYS_READY": "1", "TELEMETRY_SAMPLING_RATIO": "0.9"}
    low = provision({**FRESH, "PROFILE": "low-cost", **chosen})
    warm = {
        site.body["tags"]["azd-service-name"]: site.properties["functionAppConfig"]["scaleAndConcurrency"][
            "alwaysReady"
        ]
        for site in low.of_type("Microsoft.Web/sites")
    }

    assert warm == {"web": [], "worker": [{"name": "function:embedding", "instanceCount": 1}]}
    assert low.the("Microsoft.Search/searchServices").body["sku"]["name"] == "free"
    assert low.app_settings["TELEMETRY_SAMPLING_RATIO"] == "0.9"
