"""Telemetry of an app process: set up once, sampled as configured, and never a hindrance to the app."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.identity import ManagedIdentityCredential
from azure.monitor.opentelemetry._constants import _FULLY_SUPPORTED_INSTRUMENTED_LIBRARIES

from shared.azure.telemetry import setup as telemetry_setup
from shared.settings.app import load_settings
from tests.support.cloud import wait_for
from tests.support.receiver import Receiver, receiving

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = {
    "COSMOS_ENDPOINT": "http://localhost:1",
    "SEARCH_ENDPOINT": "https://localhost:1",
    "SERVICEBUS_CONNECTION__fullyQualifiedNamespace": "none",
    "STORAGE_BLOB_ENDPOINT": "http://localhost:1",
}
BEGIN = """
import asyncio, logging, sys
logging.basicConfig(level="INFO")
from shared.azure.telemetry.metrics import pipeline_metrics
from shared.azure.telemetry.metrics import span
from shared.azure.telemetry.setup import start_telemetry, telemetry_ready
start_telemetry()
asyncio.run(telemetry_ready())
"""


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with receiving(tmp_path_factory.mktemp("receiver")) as running:
        yield running


def run(code: str, connection: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **SETTINGS, "APPLICATIONINSIGHTS_CONNECTION_STRING": connection, **settings}
    return subprocess.run(
        [sys.executable, "-c", BEGIN + code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_every_trace_is_kept_and_sent_when_the_process_ends(receiver: Receiver) -> None:
    code = """
for number in range(60):
    with span("many", attributes={"pipeline.stage": "sampled"}):
        pass
pipeline_metrics().events_processed.add(60, {"service": "sampled", "event_type": "X"})
"""
    run(code, receiver.connection_string)

    spans = receiver.ask("/api/spans", **{"pipeline.stage": "sampled"})["spans"]
    assert len({span["trace_id"] for span in spans}) == 60
    counted = receiver.metric("events_processed_total", service="sampled")
    assert counted is not None
    assert counted["total"] == 60


def test_a_setting_says_how_many_traces_are_kept(receiver: Receiver) -> None:
    code = """
for number in range(200):
    with span("some", attributes={"pipeline.stage": "half"}):
        pass
"""
    run(code, receiver.connection_string, TELEMETRY_SAMPLING_RATIO="0.5")

    kept = len(receiver.ask("/api/spans", **{"pipeline.stage": "half"})["spans"])
    assert 50 < kept < 150


def test_a_log_line_is_found_by_the_trace_that_it_belongs_to(receiver: Receiver) -> None:
    code = """
with span("logging", attributes={"pipeline.stage": "logging"}):
    logging.getLogger("stages.somewhere").warning("inside of %s", "it")
    logging.getLogger("a.library").warning("none of ours")
    # Python 3.13 shows the source of `python -c` in tracebacks, so the source must not hold the words.
    words = " ".join(["words", "of", "somebody"])
    try:
        raise RuntimeError(words)
    except RuntimeError:
        logging.getLogger("shared.somewhere").exception("it failed")
"""
    run(code, receiver.connection_string)

    (found,) = receiver.ask("/api/spans", **{"pipeline.stage": "logging"})["spans"]
    trace = receiver.ask(f"/api/traces/{found['trace_id']}")
    assert [log["message"] for log in trace["logs"]] == ["inside of it", "it failed"]
    assert {log["span_id"] for log in trace["logs"]} == {found["span_id"]}
    assert trace["logs"][1]["exception"]["type"] == "RuntimeError"
    assert "words of somebody" not in receiver.everything()


def test_the_exporter_says_nothing_about_itself(receiver: Receiver) -> None:
    run('with span("alone"): pass', receiver.connection_string)

    names = {metric["name"] for metric in receiver.ask("/api/metrics")["metrics"]}
    assert names <= {"events_processed_total"}


def test_where_the_worker_sends_telemetry_the_app_does_not(receiver: Receiver) -> None:
    before = receiver.ask("/_localcloud/health")["spans"]
    code = """
with span("twice"):
    pass
print("azure.monitor" in sys.modules)
"""
    done = run(code, receiver.connection_string, PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY="true")

    assert done.stdout.strip() == "False"
    assert "the worker sends telemetry" in done.stderr
    assert receiver.ask("/_localcloud/health")["spans"] == before


def test_without_an_address_nothing_is_loaded_and_nothing_is_sent() -> None:
    code = """
with span("nowhere"):
    pass
print([name for name in ("azure.monitor", "opentelemetry.sdk") if name in sys.modules])
"""
    assert run(code, "").stdout.strip() == "[]"


def test_a_receiver_that_is_gone_holds_up_neither_work_nor_exit(tmp_path: Path) -> None:
    with receiving(tmp_path) as gone:
        connection = gone.connection_string
    started = time.monotonic()
    done = run('with span("lost"): pass\nprint("worked")', connection)

    assert done.stdout.strip() == "worked"
    assert time.monotonic() - started < 30


def test_settings_that_are_wrong_are_told_and_the_app_goes_on(receiver: Receiver) -> None:
    done = run('print("alive")', receiver.connection_string, TELEMETRY_SAMPLING_RATIO="7")

    assert done.stdout.strip() == "alive"
    assert "telemetry could not be set up" in done.stderr
    assert "TELEMETRY_SAMPLING_RATIO" in done.stderr


def test_what_is_recorded_is_sent_in_the_background(receiver: Receiver) -> None:
    code = """
with span("background", attributes={"pipeline.stage": "background"}):
    pass
sys.stdin.read()
"""
    environment = {
        **os.environ,
        **SETTINGS,
        "APPLICATIONINSIGHTS_CONNECTION_STRING": receiver.connection_string,
    }
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN + code], cwd=ROOT, env=environment, stdin=subprocess.PIPE
    ) as process:
        wait_for(
            lambda: receiver.ask("/api/spans", **{"pipeline.stage": "background"})["spans"],
            what="a span of a process that is still at work",
        )
        process.communicate(timeout=30)


def test_the_sdks_do_not_log_each_of_their_calls() -> None:
    code = (
        BEGIN
        + "print(*(name for name in ('azure.cosmos', 'azure.core', 'azure.monitor', 'shared')\n"
        + ("    if logging.getLogger(name).isEnabledFor(logging.INFO)))\n")
    )
    assert run(code, "").stdout.split() == ["shared"]


AZURE = "InstrumentationKey=00000000-0000-0000-0000-000000000001;IngestionEndpoint=https://x.in.applicationinsights.azure.com/"


def test_in_azure_telemetry_goes_by_managed_identity_and_with_the_ratio_that_is_set() -> None:
    settings = load_settings(
        {**SETTINGS, "AZURE_CLIENT_ID": "an-identity", "TELEMETRY_SAMPLING_RATIO": "0.25"}
    )
    options = telemetry_setup._options(AZURE, settings, local=telemetry_setup._is_local(AZURE))

    assert isinstance(options["credential"], ManagedIdentityCredential)
    assert options["sampling_ratio"] == 0.25
    assert options["disable_offline_storage"] is True
    options["credential"].close()


def test_the_local_receiver_is_asked_for_without_an_identity(receiver: Receiver) -> None:
    settings = load_settings({**SETTINGS, "AZURE_CLIENT_ID": "an-identity"})
    local = telemetry_setup._is_local(receiver.connection_string)

    assert local
    assert "credential" not in telemetry_setup._options(receiver.connection_string, settings, local=local)


@pytest.mark.parametrize(
    "connection",
    ["InstrumentationKey=x", "InstrumentationKey=x;IngestionEndpoint=https://127.0.0.1.evil.example/"],
)
def test_what_only_looks_local_is_not(connection: str) -> None:
    assert not telemetry_setup._is_local(connection)


def test_every_library_that_the_distribution_would_instrument_is_told_not_to_be() -> None:
    assert set(_FULLY_SUPPORTED_INSTRUMENTED_LIBRARIES) <= set(telemetry_setup.LIBRARIES)
