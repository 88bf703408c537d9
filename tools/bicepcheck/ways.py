"""Variants of a deployment, which create different resources."""

from base64 import b64encode
from typing import Any

__all__ = ["DEPLOYER", "OPERATOR", "WAYS"]

DEPLOYER = "55555555-4444-3333-2222-111111111111"
OPERATOR = "11111111-2222-3333-4444-555555555555"
_BASIC: dict[str, Any] = {"environmentName": "demo", "location": "swedencentral"}
WAYS: dict[str, dict[str, Any]] = {
    "plain": _BASIC,
    "private": {**_BASIC, "vnetEnabled": True, "openAiEnabled": True},
    "full": {
        **_BASIC,
        "operatorPrincipalId": OPERATOR,
        "cosmosMode": "autoscale",
        "openAiEnabled": True,
        "embeddingAlwaysReady": 0,
        "alertEmail": "ops@example.org",
        "budgetAmount": 100,
        "purgeProtection": "true",
        "operatorKey": "of sixteen characters",
        "sourceSecretsBase64": b64encode(b'{"SOURCE_SECRET_LIST": "token"}').decode(),
    },
    "direct-uploads": {
        **_BASIC,
        "vnetEnabled": True,
        "directUploads": True,
        "appSettings": {"PUBLIC_URL": "https://lists.example.org/consensus"},
    },
    "low-cost": {**_BASIC, "profile": "low-cost"},
    "entra": {
        **_BASIC,
        "authMode": "entra",
        "authClientId": "22222222-3333-4444-5555-666666666666",
        "scmAllowedAddresses": "203.0.113.0/24",
        "siteUpdateStrategy": "RollingUpdate",
    },
    "deployer": {**_BASIC, "deployerPrincipalId": DEPLOYER, "deployerPrincipalType": "ServicePrincipal"},
    "trial": {**_BASIC, "profile": "trial"},
    "longest-name": {**_BASIC, "environmentName": "e" * 64, "budgetAmount": 100},
}
