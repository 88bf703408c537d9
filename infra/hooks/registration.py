"""The app registration for sign-in, if AUTH_MODE is entra.

Bicep cannot create it, because it belongs to the tenant instead of the subscription. It has no secret,
because the web app's identity signs in for it (a federated credential).
"""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from environment import say, stop

GRAPH = os.environ.get("MICROSOFT_GRAPH", "https://graph.microsoft.com/v1.0")
SCOPE = "https://graph.microsoft.com/.default"
ROLES = json.loads(Path(__file__).with_name("app_roles.json").read_text())
CALLBACK = "/.auth/login/aad/callback"
CREDENTIAL = "web-app"
CREATE_IF_MISSING = {"Prefer": "create-if-missing"}


class GraphError(Exception):
    """Microsoft Graph rejected a request."""


def prepare() -> int:
    """Before provisioning: create or update the registration, and store its id in azd's environment."""
    if not _is_asked_for():
        return 0
    environment = os.environ["AZURE_ENV_NAME"]
    try:
        found = _registration(environment)
        app_id, object_id = found["appId"], found["id"]
        _send("PATCH", f"/applications/{object_id}", {"identifierUris": [f"api://{app_id}"]})
        # A service principal represents the registration in this tenant, where roles are assigned.
        _send(
            "PATCH",
            f"/servicePrincipals(appId='{app_id}')",
            {"displayName": found["displayName"]},
            upsert=True,
        )
    except (OSError, GraphError, subprocess.CalledProcessError) as error:
        return stop(
            f"The app registration was not created ({error}): you need permission to register applications."
        )
    _azd("env", "set", "AUTH_CLIENT_ID", app_id)
    say(f"The app registration {found['displayName']} is ready.")
    return 0


def complete() -> int:
    """After provisioning: let the deployed web app use the registration."""
    if not _is_asked_for():
        return 0
    needed = ("APP_URI", "AUTH_CLIENT_ID", "AZURE_TENANT_ID", "WEB_PRINCIPAL_ID")
    if missing := [name for name in needed if not os.environ.get(name)]:
        return stop(
            f"{', '.join(missing)}: missing, so users cannot sign in. azd sets them from infra/main.bicep"
        )
    app = f"/applications(appId='{os.environ['AUTH_CLIENT_ID']}')"
    trust = {
        "issuer": f"https://login.microsoftonline.com/{os.environ['AZURE_TENANT_ID']}/v2.0",
        "subject": os.environ["WEB_PRINCIPAL_ID"],
        "audiences": ["api://AzureADTokenExchange"],
    }
    try:
        _send("PATCH", app, {"web": {"redirectUris": [os.environ["APP_URI"] + CALLBACK]}})
        _send("PATCH", f"{app}/federatedIdentityCredentials(name='{CREDENTIAL}')", trust, upsert=True)
    except (OSError, GraphError, subprocess.CalledProcessError) as error:
        return stop(f"The app registration was not completed ({error}), so users cannot sign in.")
    return 0


def _is_asked_for() -> bool:
    """Return whether to handle the registration.

    A pipeline may not create one, so it uses an existing one.
    """
    is_pipeline = os.environ.get("AZURE_PRINCIPAL_TYPE") == "ServicePrincipal"
    return os.environ.get("AUTH_MODE") == "entra" and not (is_pipeline and os.environ.get("AUTH_CLIENT_ID"))


def _registration(environment: str) -> dict[str, str]:
    name = "rough-consensus-" + re.sub(r"[^A-Za-z0-9-]", "-", environment)
    wanted = {
        "displayName": f"Rough Consensus ({environment})",
        "signInAudience": "AzureADMyOrg",
        "groupMembershipClaims": "SecurityGroup",
        "web": {"implicitGrantSettings": {"enableIdTokenIssuance": True}},
        "appRoles": [
            {
                "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"rough-consensus/{role}")),
                "value": role,
                "displayName": role.capitalize(),
                "description": description,
                "allowedMemberTypes": ["User", "Application"],
                "isEnabled": True,
            }
            for role, description in ROLES.items()
        ],
    }
    address = f"/applications(uniqueName='{name}')"
    _send("PATCH", address, wanted, upsert=True)
    found: dict[str, str] = _send("GET", address)  # an update has no response body
    return found


def _send(method: str, path: str, body: Any = None, *, upsert: bool = False) -> Any:
    token = json.loads(_azd("auth", "token", "--scope", SCOPE, "--output", "json"))["token"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(  # noqa: S310 - Microsoft Graph
        GRAPH + path,
        data=None if body is None else json.dumps(body).encode(),
        headers=headers | (CREATE_IF_MISSING if upsert else {}),
        method=method,
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - Microsoft Graph
            content = response.read()
    except urllib.error.HTTPError as error:
        raise GraphError(f"{error.code} {error.read().decode(errors='replace')[:300]}") from error
    return json.loads(content) if content else None


def _azd(*arguments: str) -> str:
    return subprocess.run(["azd", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S607
