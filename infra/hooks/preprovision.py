"""Before provisioning: reject plain-text secrets, create the app registration, keep a budget's first day.

Azure does not allow changes of that day. A developer's environment stores it as an output of the first
deployment. A pipeline starts with an empty environment each time, so it asks Azure.
"""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from environment import say, stop
from registration import prepare

MANAGEMENT = os.environ.get("AZURE_RESOURCE_MANAGER", "https://management.azure.com")
LONGEST_NAME = 63  # the limit in infra/main.bicep
NOT_FOUND = 404


def azd(*arguments: str) -> str:
    return subprocess.run(["azd", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S607


def address() -> str:
    environment = os.environ["AZURE_ENV_NAME"]
    group = os.environ.get("AZURE_RESOURCE_GROUP") or f"rg-{environment}"
    name = f"{environment}-monthly"[:LONGEST_NAME]
    scope = f"{MANAGEMENT}/subscriptions/{os.environ['AZURE_SUBSCRIPTION_ID']}/resourceGroups/{group}"
    return f"{scope}/providers/Microsoft.Consumption/budgets/{name}?api-version=2024-08-01"


def first_day() -> str | None:
    """Return the first day of the existing budget, or None."""
    token = json.loads(azd("auth", "token", "--output", "json"))["token"]
    request = urllib.request.Request(address(), headers={"Authorization": f"Bearer {token}"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - Azure's own address
            return str(json.load(response)["properties"]["timePeriod"]["startDate"])
    except urllib.error.HTTPError as error:
        if error.code == NOT_FOUND:
            return None
        raise


def secrets_in_clear() -> list[str]:
    """Return the names of secrets whose values are in the file of azd's environment."""
    file = Path(".azure", os.environ.get("AZURE_ENV_NAME", ""), ".env")
    if not file.is_file():
        return []
    listed = Path("azure.yaml").read_text().partition("\n  secrets:\n")[2]
    values = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
    found = {name: values.get(name, "").strip("\"'") for name in re.findall(r"    - (\w+)", listed)}
    return [name for name, value in found.items() if value and not value.startswith("akvs://")]


def main() -> int:
    if names := secrets_in_clear():
        return stop(
            "\n".join(f"{name} is in plain text in .azure: run `azd env set-secret {name}`" for name in names)
        )
    if ended := prepare():
        return ended
    has_budget = os.environ.get("BUDGET_AMOUNT", "0") not in ("", "0")
    is_known = bool(os.environ.get("BUDGET_START_DATE"))
    if not has_budget or is_known or not os.environ.get("AZURE_SUBSCRIPTION_ID"):
        return 0
    try:
        day = first_day()
    except (OSError, subprocess.CalledProcessError) as error:
        return stop(f"The budget could not be read ({error}): set BUDGET_START_DATE to its first day.")
    if day is not None:
        azd("env", "set", "BUDGET_START_DATE", day)
        say(f"The budget keeps its first day, {day}.")
    return 0


sys.exit(main())
