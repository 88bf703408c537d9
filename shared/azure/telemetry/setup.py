"""Send telemetry to Azure Monitor. The exporter is imported in the background, so a start does not wait."""

import asyncio
import json
import logging
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from shared.settings.app import Settings, settings
from shared.settings.outgoing import LOOPBACK, connection_fields

LONGEST_LINE = 1_000
LONGEST_STACK = 16_000
LOOKED_AT_MORE = 4_000
SHORTEST_SECRET = 8
OURS = ("shared.", "stages.", "web.", "ops.", "localcloud.")
KEPT_ATTRIBUTES = frozenset({"exception.type", "exception.message", "exception.stacktrace"})

_SECRET_SETTING = re.compile(r"KEY|SECRET|PASSWORD|TOKEN|CONNECTION|SIGNATURE|AzureWebJobsStorage")
_NOT_SECRET = re.compile(r"^(APPLICATIONINSIGHTS_CONNECTION_STRING|.*__.*)$")
_PIECE = re.compile(r"(?:SharedAccessKey|AccountKey|SharedAccessSignature|sig)=([^;&\s]+)")
_LETTER = r"[^\s<>\"'(),;:=\[\]]"
_RULES = [
    (re.compile(r"input_value=.*?(?=, input_type=|$)", re.DOTALL), "input_value=..."),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), r"\1 ..."),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), "..."),
    (
        re.compile(
            r"\b(\w*(?:password|passwd|secret|api[-_]?key|accountkey|sharedaccesskey|token|signature|sig))"
            r"([\"']?\s*[=:]\s*[\"']?)[^\s;,&\"']+",
            re.IGNORECASE,
        ),
        r"\1\2...",
    ),
    (re.compile(r"(?<=://)[^/\s@]+@"), ""),
    (re.compile(r"(https?://[^\s?#\"'<>]+)[?#][^\s\"'<>]*"), r"\1?..."),
    (
        re.compile(rf"(?<!{_LETTER}){_LETTER}+@{_LETTER}+"),
        "(address)",
    ),  # from the start of a word, for linear time
]
_RAISED = re.compile(r"(?P<type>[A-Za-z_][\w.]*)(?:: (?P<text>.*))?")
_BETWEEN = ("Traceback (", "During handling of", "The above exception")


def secrets_of(settings: Mapping[str, str]) -> list[str]:
    """Return the values of the settings that telemetry must never contain, longest first."""
    found: set[str] = set()
    for name, value in settings.items():
        if _SECRET_SETTING.search(name) and not _NOT_SECRET.match(name):
            found |= {value, *_PIECE.findall(value)}
        elif name == "WEBHOOKS":
            found |= _webhook_secrets(value)
        elif name == "SMTP_URL":
            found |= _mail_secrets(value)
    return sorted((secret for secret in found if len(secret) >= SHORTEST_SECRET), key=len, reverse=True)


def _webhook_secrets(value: str) -> set[str]:
    """Return the secrets of the webhooks, including the URLs: many services need no other secret."""
    try:
        hooks = json.loads(value)
        return {str(hook[name]) for hook in hooks for name in ("url", "secret") if name in hook}
    except (
        ValueError,
        TypeError,
        RecursionError,
    ):  # then no webhook is called, and the whole value is secret
        return {value}


def _mail_secrets(value: str) -> set[str]:
    """Return the password as written in the setting and as sent to the server."""
    try:
        password = urlsplit(value).password or ""
    except ValueError:  # then no mail is sent, and the whole value is secret
        return {value}
    return {value, password, unquote(password)}


def clean_text(text: str, secrets: Iterable[str] = (), *, longest: int = LONGEST_LINE) -> str:
    for secret in secrets:
        text = text.replace(secret, "...")
    text = _shortened(text, longest + LOOKED_AT_MORE)
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _shortened(text: str, most: int) -> str:
    """Cut a long text between words before the search for secrets, so that no secret is cut in half."""
    if len(text) <= most:
        return text
    start = text[:most]
    return f"{start[: max(start.rfind(' '), start.rfind(chr(10)))] or start}…"


def clean_stack(stack: str, secrets: Iterable[str] = ()) -> str:
    """Keep the frames of a stack, the types of its exceptions, and the texts of the app's own exceptions."""
    return clean_text("\n".join(_kept_lines(stack)), secrets, longest=LONGEST_STACK)


def _kept_lines(stack: str) -> Iterator[str]:
    source = 0  # the number of code and marker lines that may still follow a frame
    for line in stack.splitlines():
        if line.lstrip(" |+-").startswith('File "'):
            source = 2
            yield line
        elif source and line.startswith("    "):
            source -= 1
            yield line
        elif line.startswith(_BETWEEN):
            yield line
        else:
            source, found = 0, _RAISED.fullmatch(line)
            name = found["type"] if found else ""
            if name.startswith(OURS):
                yield line
            elif "." in name or name.endswith(("Error", "Exception", "Warning", "Interrupt", "Exit")):
                yield name


def clean_attributes(attributes: MutableMapping[str, Any], secrets: Iterable[str] = ()) -> None:
    """Keep only the cleaned exception attributes of a log record, and no attributes of the caller."""
    for name in set(attributes) - KEPT_ATTRIBUTES:
        del attributes[name]
    if "exception.stacktrace" in attributes:
        attributes["exception.stacktrace"] = clean_stack(str(attributes["exception.stacktrace"]), secrets)
    if "exception.message" in attributes:
        attributes["exception.message"] = clean_text(str(attributes["exception.message"]), secrets)


log = logging.getLogger(__name__)

CONNECTION = "APPLICATIONINSIGHTS_CONNECTION_STRING"
WORKER_SWITCH = "PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY"
# The app's own loggers. The logs of libraries may contain bodies and addresses.
LOGGERS = ("shared", "stages", "web", "ops")
LIBRARIES = (
    "azure_sdk", "django", "fastapi", "flask", "httpx", "httpx2", "logging", "psycopg2", "requests", "urllib",
    "urllib3",
)  # fmt: skip
# Each setting disables data that the exporter would send elsewhere, or about itself.
QUIET = (
    "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL",
    "APPLICATIONINSIGHTS_SDKSTATS_DISABLED",
    "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED",
)
LOCAL = {
    "OTEL_SERVICE_NAME": "rough-consensus",
    "OTEL_METRIC_EXPORT_INTERVAL": "5000",
    "OTEL_BSP_SCHEDULE_DELAY": "1000",
    "OTEL_BLRP_SCHEDULE_DELAY": "1000",
}
# At INFO they log each call with all headers, which costs CPU time and gigabytes in Azure.
CHATTY = ("azure.core", "azure.cosmos", "azure.identity", "azure.monitor", "azure.servicebus")
QUICK_RETRIES = 2
TIMEOUT_SECONDS = 5
FLUSH_MILLISECONDS = 5000


def _set_up(connection: str) -> None:
    try:
        _configure(connection, settings())
    except Exception:
        # The app works without telemetry.
        log.exception("telemetry could not be set up: nothing is sent")


@lru_cache(maxsize=1)
def start_telemetry() -> threading.Thread | None:
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    connection = os.environ.get(CONNECTION)
    if not connection:
        return None
    if os.environ.get(WORKER_SWITCH, "").lower() in ("true", "1"):
        log.warning("%s is set: the worker sends telemetry, so the app does not", WORKER_SWITCH)
        return None
    thread = threading.Thread(target=_set_up, args=(connection,), name="telemetry", daemon=True)
    thread.start()
    return thread


async def telemetry_ready() -> None:
    thread = start_telemetry()
    if thread is not None and thread.is_alive():
        await asyncio.to_thread(thread.join)


def start_for_command(values: Mapping[str, str], given: Settings) -> None:
    """Start telemetry for an operator's command. A failure is only logged.

    The settings may be in a file, but the exporter and the rules for secrets read the environment.
    """
    os.environ.update(values)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        _configure(values[CONNECTION], given)
    except Exception:
        log.exception("telemetry could not be set up: nothing is sent")


def flush() -> None:
    """Send the remaining telemetry, because a command ends before the next export."""
    from opentelemetry import metrics, trace  # noqa: PLC0415 - see the module
    from opentelemetry._logs import get_logger_provider  # noqa: PLC0415 - see the module

    for provider in (metrics.get_meter_provider(), trace.get_tracer_provider(), get_logger_provider()):
        if (force := getattr(provider, "force_flush", None)) is not None:
            force(FLUSH_MILLISECONDS)


def _configure(connection: str, given: Settings) -> None:
    local = _is_local(connection)
    if local:
        os.environ.update(dict.fromkeys(QUIET, "true"))
        for name, value in LOCAL.items():
            os.environ.setdefault(name, value)
    from azure.monitor.opentelemetry import configure_azure_monitor  # noqa: PLC0415 - see the module

    configure_azure_monitor(**_options(connection, given, local=local))
    _take_logs()


def _options(connection: str, given: Settings, *, local: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "connection_string": connection,
        "sampling_ratio": given.TELEMETRY_SAMPLING_RATIO,
        "logger_name": LOGGERS[0],
        "log_record_processors": [_cleaning_processor()],
        "instrumentation_options": {name: {"enabled": False} for name in LIBRARIES},
        "enable_live_metrics": False,
        "enable_performance_counters": False,
        # No telemetry is stored on disk, and no exit waits long for a dead endpoint.
        "disable_offline_storage": True,
        "retry_total": QUICK_RETRIES,
        "timeout": TIMEOUT_SECONDS,
    }
    if not local and given.AZURE_CLIENT_ID is not None:
        from azure.identity import ManagedIdentityCredential  # noqa: PLC0415 - see the module

        options["credential"] = ManagedIdentityCredential(client_id=given.AZURE_CLIENT_ID)
    return options


def _is_local(connection: str) -> bool:
    return urlsplit(connection_fields(connection).get("IngestionEndpoint", "")).hostname in LOOPBACK


def _take_logs() -> None:
    """Share the handler that the distribution has added to the first logger with the other loggers."""
    from opentelemetry.instrumentation.logging.handler import LoggingHandler  # noqa: PLC0415 - see the module

    for handler in logging.getLogger(LOGGERS[0]).handlers:
        if isinstance(handler, LoggingHandler):
            for name in LOGGERS[1:]:
                logging.getLogger(name).addHandler(handler)


def _cleaning_processor() -> Any:
    from opentelemetry.sdk._logs import LogRecordProcessor, ReadWriteLogRecord  # noqa: PLC0415 - see the module

    secrets = secrets_of(os.environ)

    class CleaningProcessor(LogRecordProcessor):
        def on_emit(self, log_record: ReadWriteLogRecord) -> None:
            record = log_record.log_record
            record.body = clean_text(str(record.body or ""), secrets)
            if record.attributes:
                clean_attributes(record.attributes, secrets)  # type: ignore[arg-type] # made mutable by the SDK

        def shutdown(self) -> None:
            return None

        def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the SDK's signature
            return True

    return CleaningProcessor()
