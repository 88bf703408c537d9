"""The app's settings, read once from the environment: local.settings.json locally, Bicep in Azure.

A service is reached by its connection string or key if one is set, else by managed identity.
"""

import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from shared.settings.outgoing import (
    InvalidMailServerError,
    InvalidWebhooksError,
    MailServer,
    is_address,
    parse_mail_server,
    parse_webhooks,
)

MANIFEST = "manifest.json"


def model_in(folder: str | None) -> str | None:
    """Return the model name in the folder's manifest, or the folder's name, which may not exist."""
    path = Path(folder or "")
    return (manifest_model(path) or path.resolve().name) if folder and path.is_dir() else None


def manifest_model(folder: Path) -> str | None:
    """Return the model name in the manifest of a built model, or None without a readable manifest."""
    try:
        return str(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["model"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


Positive = Annotated[int, Field(gt=0)]
EXTRACTIVE_MODEL = "extractive-v2"
FUNCTION_MINUTES = 30  # functionTimeout in host.json
Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]


def _spelling(value: Any) -> Any:
    return value.lower().replace("-", "").replace("_", "") if isinstance(value, str) else value


EmbeddingBackend = Annotated[
    Literal["openvino", "sentencetransformers", "azureopenai", "openai"], BeforeValidator(_spelling)
]
SummaryBackend = Annotated[Literal["extractive", "azureopenai", "openai"], BeforeValidator(_spelling)]


AppPart = Literal["all", "web", "worker"]


class SettingsError(ValueError):
    """Settings are missing or malformed. Each line names one setting."""


class ChatModelSettings(BaseModel):
    """The settings of the chat model that reads threads. An endpoint and a model name enable it."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    SUMMARY_BACKEND: SummaryBackend = "extractive"  # An endpoint changes the default to azureopenai or openai
    SUMMARY_MODEL: Annotated[str, Field(min_length=1)] = EXTRACTIVE_MODEL
    SUMMARY_CONTEXT_TOKENS: Positive = 16_000
    SUMMARY_ENDPOINT: str | None = None
    SUMMARY_API_KEY: SecretStr | None = None
    SUMMARY_TIMEOUT_SECONDS: Annotated[float, Field(gt=0, le=600)] = 120
    SUMMARY_ARCHIVE_TOKENS: Positive | None = None  # The limit for all threads of one archive.


RATE_LIMITS = {"search": 60, "ask": 30, "raw": 30, "upload": 600, "signin": 10, "report": 5}
_RATE = rf"({'|'.join(RATE_LIMITS)})=[0-9]{{1,6}}"


class Settings(ChatModelSettings):
    # The functions of this app: requests (web), stages and timers (worker), or both.
    APP_PART: AppPart = "all"

    # The time limit of a read for a page or the API. Other calls have more (shared/azure/calls.py).
    REQUEST_SECONDS: Annotated[float, Field(gt=0, le=60)] = 2

    # Service Bus
    SERVICEBUS_CONNECTION: SecretStr | None = None
    SERVICEBUS_CONNECTION__fullyQualifiedNamespace: str | None = None
    SERVICEBUS_ADMIN_ENDPOINT: str | None = None
    # For one process. An operation on dead letters opens one more. Microsoft's emulator accepts ten.
    SERVICEBUS_MAX_CONNECTIONS: Annotated[int, Field(ge=2, le=1000)] = 40

    # Cosmos DB
    COSMOS_ENDPOINT: str
    COSMOS_KEY: SecretStr | None = None
    COSMOS_DATABASE: str = "consensus"

    # AI Search
    SEARCH_ENDPOINT: str
    SEARCH_KEY: SecretStr | None = None
    SEARCH_INDEX: str = "message_embeddings"
    SEARCH_CA_FILE: Path | None = None

    # Chunking, in tokens of the embedding model.
    CHUNKING_STRATEGY: Literal["recursive", "token_window", "semantic"] = "recursive"
    CHUNKING_MAX_TOKENS: Annotated[int, Field(gt=0, le=8190)] = 254  # At most the model's window.

    # Blob storage
    STORAGE_CONNECTION: SecretStr | None = None
    STORAGE_BLOB_ENDPOINT: str | None = None
    # Whether browsers may send large files directly to Blob storage, with an address signed for one file.
    DIRECT_UPLOADS: bool = False

    # The size limit of an archive, which also sets its unpacked limit (ingestion/unpacked_streams.py).
    ARCHIVE_MAX_BYTES: Positive = 2 * 1024**3

    # The allowed origins of archives.
    ALLOW_LOCAL_SOURCES: bool = False
    SOURCE_ALLOWED_HOSTS: str = ""

    # The managed identity, if the app has several.
    AZURE_CLIENT_ID: str | None = None

    # The share of traces that telemetry keeps. A trace is kept whole or not at all.
    TELEMETRY_SAMPLING_RATIO: Annotated[float, Field(ge=0, le=1)] = 1.0

    # Embedding. The path is a folder from shared.embedding.openvino.build or of a sentence-transformers
    # model.
    EMBEDDING_BACKEND: EmbeddingBackend = "openvino"
    EMBEDDING_MODEL: Annotated[str, Field(min_length=1)] = "all-MiniLM-L6-v2"
    EMBEDDING_MODEL_PATH: Path | None = None
    # Embedding by a service: Azure OpenAI or an OpenAI-compatible endpoint.
    EMBEDDING_ENDPOINT: str | None = None
    EMBEDDING_API_KEY: SecretStr | None = None
    EMBEDDING_DIMENSION: Annotated[int, Field(gt=0, le=16_384)] | None = None

    # The key for the operator's page.
    OPERATOR_KEY: Annotated[SecretStr, Field(min_length=16)] | None = None

    # Whether all visitors may read (public), or only accounts with a role (entra).
    AUTH_MODE: Literal["public", "entra"] = "public"

    # Requests a minute for each caller, except operators. 0 means no limit (web/limits.py).
    RATE_LIMITS: Annotated[str, Field(pattern=rf"^({_RATE}(,{_RATE})*)?$")] = ""

    # Whether search engines may list the pages.
    SEARCH_ENGINES: bool = False

    # Whether all readers see full e-mail addresses. Operators always do.
    SHOW_ADDRESSES: bool = False

    # Whether readers have pages about people, which collect a person's statements. Operators always have
    # them.
    PEOPLE_PAGES: bool = False

    # How long a thread must be unchanged before its summary is requested. 0 requests it immediately.
    ORCHESTRATION_QUIET_SECONDS: Annotated[float, Field(ge=0, le=24 * 3600)] = 5

    # Webhooks: a JSON list of {name, url, secret, types, sources} (shared/settings/outgoing.py).
    WEBHOOKS: SecretStr | None = None
    WEBHOOK_ALLOWED_HOSTS: str = ""
    # The public URL of the site, for links in mails, feeds and webhooks.
    PUBLIC_URL: str = ""

    # The URL of the app for commands that call it. PUBLIC_URL is the default.
    FUNCTIONS_URL: str = ""

    # SMTP_URL enables digests by e-mail. EMAIL_SECRET signs the links to confirm and unsubscribe.
    SMTP_URL: SecretStr | None = None
    EMAIL_FROM: str = ""
    EMAIL_SECRET: Annotated[SecretStr, Field(min_length=16)] | None = None

    # Retries of races between an event and its document (R-701 and after, docs/requirements.md). The backoff
    # of transient failures is derived from them (shared/pipeline/retry.py).
    RETRY_MAX_ATTEMPTS: Positive = 8
    RETRY_BASE_DELAY_MS: Positive = 250
    RETRY_BACKOFF_FACTOR: Annotated[float, Field(ge=1)] = 2.0
    RETRY_MAX_DELAY_SECONDS: Seconds = 60
    RETRY_TTL_MINUTES: Annotated[float, Field(gt=0)] = 30

    # The sweep (R-721 and after).
    RETRY_JOB_INTERVAL_SECONDS: Positive = 900
    RETRY_JOB_BASE_DELAY_SECONDS: Positive = 300
    RETRY_JOB_MAX_DELAY_SECONDS: Positive = 3600
    RETRY_JOB_STUCK_THRESHOLD_HOURS: Annotated[float, Field(gt=0)] = 24
    RETRY_JOB_MAX_ATTEMPTS_ARCHIVES: Positive = 3
    RETRY_JOB_MAX_ATTEMPTS_MESSAGES: Positive = 3
    RETRY_JOB_MAX_ATTEMPTS_CHUNKS: Positive = 5
    RETRY_JOB_MAX_ATTEMPTS_THREADS: Positive = 5

    # The target time from upload to report.
    SLO_REPORT_MINUTES: Annotated[float, Field(gt=0)] = 60

    @property
    def sends_mail(self) -> bool:
        """Return whether readers can follow by e-mail. Only the worker knows the mail server."""
        return bool(self.EMAIL_FROM and self.EMAIL_SECRET)

    @property
    def app_url(self) -> str:
        return (self.FUNCTIONS_URL or self.PUBLIC_URL).rstrip("/")

    @property
    def rate_limits(self) -> Mapping[str, int]:
        given = (part.split("=") for part in self.RATE_LIMITS.split(",") if part)
        return RATE_LIMITS | {name: int(number) for name, number in given}

    @property
    def mail_server(self) -> MailServer | None:
        return None if self.SMTP_URL is None else parse_mail_server(self.SMTP_URL.get_secret_value())


def load_settings(values: Mapping[str, str] | None = None) -> Settings:
    """Read and check all settings, from `values` or from the environment."""
    given = _given(os.environ if values is None else values)
    problems = [
        f"{connection}: missing; set it to a connection string, or {address} for managed identity"
        for connection, address in _CONNECTIONS
        if connection not in given and address not in given
    ]
    try:
        loaded = Settings.model_validate(given)
        problems += _problems(loaded)
    except ValidationError as error:
        problems = [*(_line(problem) for problem in error.errors()), *problems]
    if problems:
        raise SettingsError("\n".join(problems))
    return loaded


def app_part() -> AppPart:
    """Return APP_PART, which is needed before the other settings are read."""
    given = os.environ.get("APP_PART") or "all"
    for part in get_args(AppPart):
        if part == given:
            return cast("AppPart", part)
    raise SettingsError(f"APP_PART: {given} is none of {', '.join(get_args(AppPart))}")


def chat_settings(values: Mapping[str, str]) -> ChatModelSettings:
    """Return the chat model's settings, for a command that needs no other settings."""
    try:
        loaded = ChatModelSettings.model_validate({"SUMMARY_BACKEND": "openai"} | _given(values))
        problems = list(_summary_problems(loaded))
    except ValidationError as error:
        problems = [_line(problem) for problem in error.errors()]
    if problems:
        raise SettingsError("\n".join(problems))
    return loaded


def _given(values: Mapping[str, str]) -> dict[str, str]:
    """Return the non-empty values and the values derived from them."""
    given = {name: value for name, value in values.items() if value}
    if "EMBEDDING_MODEL" not in given and (model := model_in(given.get("EMBEDDING_MODEL_PATH"))):
        given["EMBEDDING_MODEL"] = model
    if endpoint := given.get("SUMMARY_ENDPOINT"):  # An endpoint enables the chat model.
        is_azure = (urlsplit(endpoint).hostname or "").endswith(_AZURE_HOSTS)
        given.setdefault("SUMMARY_BACKEND", "azureopenai" if is_azure else "openai")
    return given


@lru_cache(maxsize=1)
def settings() -> Settings:
    return load_settings()


# The settings of a connection string, and of an endpoint for managed identity.
_CONNECTIONS = [
    ("SERVICEBUS_CONNECTION", "SERVICEBUS_CONNECTION__fullyQualifiedNamespace"),
    ("STORAGE_CONNECTION", "STORAGE_BLOB_ENDPOINT"),
]
_AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com")


def _problems(loaded: Settings) -> Iterator[str]:
    yield from _embedding_problems(loaded)
    yield from _summary_problems(loaded)
    try:
        parse_webhooks(loaded.WEBHOOKS.get_secret_value() if loaded.WEBHOOKS else "")
    except InvalidWebhooksError as error:
        yield f"WEBHOOKS: {error}; it is a JSON list of webhooks with name, url and secret"
    try:
        server = loaded.mail_server
    except InvalidMailServerError as error:
        yield f"SMTP_URL: {error}"
    else:  # A mail needs a server, a sender, and links to the site.
        has_url = loaded.PUBLIC_URL.startswith(("https://", "http://"))
        needed = {
            "EMAIL_FROM": is_address(loaded.EMAIL_FROM),
            "EMAIL_SECRET": loaded.EMAIL_SECRET,
            "PUBLIC_URL": has_url,
        }
        if server is not None:
            yield from (
                f"{name}: missing or wrong; SMTP_URL needs it" for name, fits in needed.items() if not fits
            )
    given, most = loaded.RETRY_TTL_MINUTES, f"the {FUNCTION_MINUTES} minutes that a function may run"
    if given > FUNCTION_MINUTES:  # The function itself waits if the broker does not accept a retry.
        yield f"RETRY_TTL_MINUTES: {given:g} is more than {most} (functionTimeout in host.json)"


def _embedding_problems(loaded: Settings) -> Iterator[str]:
    """Check the embedding settings. A service does not report its address and vector length."""
    backend, path = loaded.EMBEDDING_BACKEND, loaded.EMBEDDING_MODEL_PATH
    if backend in {"azureopenai", "openai"}:
        needed = ["EMBEDDING_ENDPOINT", "EMBEDDING_DIMENSION"]
        # Managed identity works only for Azure.
        needed += ["EMBEDDING_API_KEY"] if backend == "openai" else []
        for name in needed:
            if not getattr(loaded, name):
                yield f"{name}: missing; EMBEDDING_BACKEND {backend} needs it"
    true = manifest_model(path) if path is not None and backend == "openvino" else None
    # Vectors of one model would get another model's name.
    if true is not None and true != loaded.EMBEDDING_MODEL:
        yield f"EMBEDDING_MODEL: {loaded.EMBEDDING_MODEL}, but EMBEDDING_MODEL_PATH has {true}; leave it out"


def _summary_problems(loaded: ChatModelSettings) -> Iterator[str]:
    """Check the chat model's URL and name. The key is optional, because an identity may replace it."""
    backend = loaded.SUMMARY_BACKEND
    if backend == "extractive":
        return
    if not (loaded.SUMMARY_ENDPOINT or "").startswith(("https://", "http://")):
        yield f"SUMMARY_ENDPOINT: missing or not a URL; SUMMARY_BACKEND {backend} needs it"
    if loaded.SUMMARY_MODEL == EXTRACTIVE_MODEL:
        yield f"SUMMARY_MODEL: missing; SUMMARY_BACKEND {backend} needs a model or deployment"


def _line(problem: Any) -> str:
    name = problem["loc"][0]
    if problem["type"] == "missing":
        return f"{name}: missing; set it in the app settings (local.settings.json locally)"
    message = problem["msg"]
    return f"{name}: {message[0].lower()}{message[1:]}"
