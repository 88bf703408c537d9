"""The app's settings: one typed object, read once from the app settings (environment variables).

Locally they come from local.settings.json through the Functions host; in Azure from the app settings that
the Bicep sets. A service is reached by its connection string or key where one is set, and by managed identity
where only its address is.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

__all__ = ["Settings", "SettingsError", "load_settings", "settings"]

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]


class SettingsError(ValueError):
    """Settings are missing or malformed; each line names one of them."""


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    # Service Bus
    SERVICEBUS_CONNECTION: SecretStr | None = None
    SERVICEBUS_CONNECTION__fullyQualifiedNamespace: str | None = None
    SERVICEBUS_ADMIN_ENDPOINT: str | None = None
    SERVICEBUS_TOPIC: str = "events"

    # Cosmos DB
    COSMOS_ENDPOINT: str
    COSMOS_KEY: SecretStr | None = None
    COSMOS_DATABASE: str = "consensus"

    # AI Search
    SEARCH_ENDPOINT: str
    SEARCH_KEY: SecretStr | None = None
    SEARCH_INDEX: str = "message_embeddings"
    SEARCH_CA_FILE: Path | None = None

    EMBEDDING_DIMENSION: Positive = 384

    # Blob storage
    STORAGE_CONNECTION: SecretStr | None = None
    STORAGE_BLOB_ENDPOINT: str | None = None

    # Archives: how large a file may be, and what it may unpack to
    ARCHIVE_MAX_BYTES: Positive = 2 * 1024**3
    ARCHIVE_MAX_UNPACKED_BYTES: Positive = 8 * 1024**3
    ARCHIVE_MAX_RATIO: Annotated[float, Field(ge=1)] = 200
    ARCHIVE_MAX_MEMBERS: Positive = 200_000

    # Sources: where archives may be fetched from, and how long that may take
    ALLOW_LOCAL_SOURCES: bool = False
    SOURCE_ALLOWED_HOSTS: str = ""
    SOURCE_TIMEOUT_SECONDS: Seconds = 1500
    SOURCE_IDLE_SECONDS: Seconds = 60

    # The managed identity, where the app has several
    AZURE_CLIENT_ID: str | None = None

    # Races between an event and its document (spec 002)
    RETRY_MAX_ATTEMPTS: Positive = 8
    RETRY_BASE_DELAY_MS: Positive = 250
    RETRY_BACKOFF_FACTOR: Annotated[float, Field(ge=1)] = 2.0
    RETRY_MAX_DELAY_SECONDS: Seconds = 60
    RETRY_TTL_MINUTES: Annotated[float, Field(gt=0)] = 30

    # Transient failures inside one delivery (spec 000)
    MAX_RETRIES: Annotated[int, Field(ge=0)] = 3
    RETRY_BACKOFF_SECONDS: Annotated[float, Field(ge=0)] = 5
    RETRY_BACKOFF_CAP_SECONDS: Seconds = 60

    # The sweep (spec 001)
    RETRY_JOB_INTERVAL_SECONDS: Positive = 900
    RETRY_JOB_BASE_DELAY_SECONDS: Positive = 300
    RETRY_JOB_MAX_DELAY_SECONDS: Positive = 3600
    RETRY_JOB_STUCK_THRESHOLD_HOURS: Annotated[float, Field(gt=0)] = 24
    RETRY_JOB_GRACE_MINUTES: Annotated[float, Field(ge=0)] = 15
    RETRY_JOB_MAX_ATTEMPTS_ARCHIVES: Positive = 3
    RETRY_JOB_MAX_ATTEMPTS_MESSAGES: Positive = 3
    RETRY_JOB_MAX_ATTEMPTS_CHUNKS: Positive = 5
    RETRY_JOB_MAX_ATTEMPTS_THREADS: Positive = 5


def load_settings(values: Mapping[str, str] | None = None) -> Settings:
    """Read and check all settings, from `values` instead of the environment where given."""
    given = {name: value for name, value in (os.environ if values is None else values).items() if value}
    problems = _unreachable(given)
    try:
        loaded = Settings.model_validate(given)
    except ValidationError as error:
        problems = [*(_line(problem) for problem in error.errors()), *problems]
    if problems:
        raise SettingsError("\n".join(problems))
    return loaded


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process."""
    return load_settings()


# A service is reached by the first setting where there is one, else by managed identity at the second.
_WAYS = [
    ("SERVICEBUS_CONNECTION", "SERVICEBUS_CONNECTION__fullyQualifiedNamespace"),
    ("STORAGE_CONNECTION", "STORAGE_BLOB_ENDPOINT"),
]


def _unreachable(given: Mapping[str, str]) -> list[str]:
    return [
        f"{connection}: missing; set it to a connection string, or {address} for managed identity"
        for connection, address in _WAYS
        if connection not in given and address not in given
    ]


def _line(problem: Any) -> str:
    name = problem["loc"][0]
    if problem["type"] == "missing":
        return f"{name}: missing; set it in the app settings (local.settings.json locally)"
    message = problem["msg"]
    return f"{name}: {message[0].lower()}{message[1:]}"
