"""Creates or updates the search index to the code's definition.

postprovision.py runs it in an environment with the app's packages and the values of azd's environment. The
deployer has the required role: see docs/deploy.md, Roles.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
)
from azure.identity.aio import AzureDeveloperCliCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient

from shared.azure.search.index import Index
from shared.operations.provisioning import DEFAULT_DIMENSION
from shared.settings.app import Settings

FAILED, UNREACHABLE = 1, 3
FORBIDDEN = 403
ATTEMPTS = 20  # a new role takes minutes to propagate
PAUSE = float(os.environ.get("INDEX_PAUSE_SECONDS", "15"))


def setting(name: str) -> Any:
    """Return a setting as the app reads it: from the environment, or its default."""
    return os.environ.get(name) or Settings.model_fields[name].default


@asynccontextmanager
async def opened_index() -> AsyncIterator[Index]:
    """Open the index with the token of `azd auth login`, or with a key for the local search service."""
    endpoint, key, ca = os.environ["SEARCH_ENDPOINT"], setting("SEARCH_KEY"), setting("SEARCH_CA_FILE")
    options = {"connection_verify": str(ca)} if ca else {}
    identity = AzureDeveloperCliCredential()
    credential = AzureKeyCredential(key) if key else identity
    index = Index(
        lambda name: SearchClient(endpoint, name, credential, **options),
        SearchIndexClient(endpoint, credential, **options),
        setting("SEARCH_INDEX"),
        setting("EMBEDDING_MODEL"),
    )
    try:
        yield index
    finally:
        await index.close()
        await identity.close()


async def make() -> None:
    async with opened_index() as index:
        await index.versions.ensure(int(setting("EMBEDDING_DIMENSION") or DEFAULT_DIMENSION))


def is_private() -> bool:
    return os.environ.get("VNET_ENABLED", "").lower() == "true"


async def make_when_allowed() -> int:
    """Create the index. Retry only until the role has propagated, because other errors are permanent."""
    for _ in range(ATTEMPTS):
        try:
            await make()
        except AzureError as error:
            if is_private() and is_closed(error):
                return UNREACHABLE
            if not is_forbidden(error):
                return _say(_line(error))
            _say("The role on the search service has not propagated yet: waiting.")
            await asyncio.sleep(PAUSE)
        else:
            return 0
    return _say("The deployer still has no permission to create the index: does the role assignment exist?")


def is_forbidden(error: AzureError) -> bool:
    return isinstance(error, HttpResponseError) and error.status_code == FORBIDDEN


def is_closed(error: AzureError) -> bool:
    """Return whether the error is that of a service without a public address: no response, or 403."""
    return is_forbidden(error) or isinstance(error, ServiceRequestError)


def _line(error: AzureError) -> str:
    if isinstance(error, ClientAuthenticationError):
        return f"azd is not signed in: run `azd auth login` ({error.message})"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"


def _say(line: str) -> int:
    sys.stderr.write(f"{line}\n")
    return FAILED


def main() -> int:
    if not os.environ.get("SEARCH_ENDPOINT"):
        return _say("SEARCH_ENDPOINT is missing: azd sets it from the outputs of infra/main.bicep")
    return asyncio.run(make_when_allowed())


if __name__ == "__main__":
    sys.exit(main())
