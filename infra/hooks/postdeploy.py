"""After the deployment: wait until the app reports that it is healthy. A cold start can take a while."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

from environment import say, stop

ATTEMPTS, PAUSE, PATIENCE = 30, 10.0, 20.0  # pause and patience in seconds
MISSING_INDEX = "is not there"  # as shared/azure/search/versions.py words it


def answer(address: str) -> tuple[int, str]:
    """Return status and body, or status 0 without a response."""
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as response:  # noqa: S310 - azd's own output
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
    except OSError as error:
        return 0, str(error)


def is_private() -> bool:
    return os.environ.get("VNET_ENABLED", "").lower() == "true"


def lacks_index_alone(body: str) -> bool:
    """Return whether only the index is missing.

    Outside a private network, the search service is unreachable.
    """
    try:
        checks = json.loads(body)["dependencies"]
    except (ValueError, KeyError, TypeError):  # a page of the platform
        return False
    wrong = {name: check.get("says", "") for name, check in checks.items() if not check["ok"]}
    return list(wrong) == ["search"] and MISSING_INDEX in wrong["search"]


def main() -> int:
    uri = os.environ.get("APP_URI")
    if not uri:
        return stop("APP_URI is missing: azd sets it from the outputs of infra/main.bicep")
    address = f"{uri}/api/health"
    attempts = int(os.environ.get("HEALTH_ATTEMPTS", ATTEMPTS))
    for attempt in range(attempts):
        time.sleep(PAUSE if attempt else 0)
        status, body = answer(address)
        if status == 200:  # noqa: PLR2004 - OK
            say(f"{address} is healthy")
            return 0
        if is_private() and lacks_index_alone(body):
            say(f"{address} lacks only its search index. Create it from inside the network:")
            say("    azd env get-values > .azure/values.env; set -a; . .azure/values.env; set +a")
            say("    python3 infra/hooks/postprovision.py")
            return 0
    return stop(f"{address} still responds with {status}: {body[:2000]}")


sys.exit(main())
