"""Before provisioning: keep the first day of a budget that is there, which Azure lets nobody change.

A person's environment remembers it, as an output of the first deployment. A pipeline starts with an empty
environment each time: it asks Azure.
"""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

from environment import say, stop

MANAGEMENT = os.environ.get("AZURE_RESOURCE_MANAGER", "https://management.azure.com")
LONGEST_NAME = 63  # as infra/main.bicep cuts it
NOT_FOUND = 404


def azd(*arguments: str) -> str:
    return subprocess.run(["azd", *arguments], check=True, capture_output=True, text=True).stdout  # noqa: S607


def address() -> str:
    environment = os.environ["AZURE_ENV_NAME"]
    group = os.environ.get("AZURE_RESOURCE_GROUP") or f"rg-{environment}"
    name = f"{environment}-monthly"[:LONGEST_NAME]
    scope = f"{MANAGEMENT}/subscriptions/{os.environ['AZURE_SUBSCRIPTION_ID']}/resourceGroups/{group}"
    return f"{scope}/providers/Microsoft.Consumption/budgets/{name}?api-version=2023-11-01"


def first_day() -> str | None:
    """Of the budget that is there; None where there is none yet."""
    token = json.loads(azd("auth", "token", "--output", "json"))["token"]
    request = urllib.request.Request(address(), headers={"Authorization": f"Bearer {token}"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - Azure's own address
            return str(json.load(response)["properties"]["timePeriod"]["startDate"])
    except urllib.error.HTTPError as error:
        if error.code == NOT_FOUND:
            return None
        raise


def main() -> int:
    has_budget = os.environ.get("BUDGET_AMOUNT", "0") not in ("", "0")
    is_known = bool(os.environ.get("BUDGET_START_DATE"))
    if not has_budget or is_known or not os.environ.get("AZURE_SUBSCRIPTION_ID"):
        return 0
    try:
        day = first_day()
    except (OSError, subprocess.CalledProcessError) as error:
        return stop(f"The budget could not be looked up ({error}): set BUDGET_START_DATE to its first day.")
    if day is not None:
        azd("env", "set", "BUDGET_START_DATE", day)
        say(f"The budget keeps its first day, {day}.")
    return 0


sys.exit(main())
