import json
from pathlib import Path

import pytest

from shared.ingestion.fetcher import TIMEOUT_SECONDS
from shared.ingestion.unpacked_streams import UnpackLimits
from shared.pipeline.retry import Backoff, RetryPolicy
from shared.settings.app import FUNCTION_MINUTES, Settings, SettingsError, load_settings
from tests.support.services import ROOT

LOCAL = {
    "COSMOS_ENDPOINT": "http://localhost:8081",
    "SEARCH_ENDPOINT": "https://localhost:7443",
    "SERVICEBUS_CONNECTION": "Endpoint=sb://localhost;SharedAccessKeyName=a;SharedAccessKey=hidden",
    "STORAGE_CONNECTION": "UseDevelopmentStorage=true",
}


@pytest.mark.requirement("R-704", "R-711")
def test_the_retry_settings_have_the_defaults_of_the_specification() -> None:
    settings = load_settings(LOCAL)
    assert (settings.RETRY_MAX_ATTEMPTS, settings.RETRY_BASE_DELAY_MS) == (8, 250)
    assert (settings.RETRY_BACKOFF_FACTOR, settings.RETRY_MAX_DELAY_SECONDS) == (2.0, 60)
    assert settings.RETRY_TTL_MINUTES == 30
    assert settings.RETRY_JOB_INTERVAL_SECONDS == 900
    assert (settings.RETRY_JOB_BASE_DELAY_SECONDS, settings.RETRY_JOB_MAX_DELAY_SECONDS) == (300, 3600)
    assert settings.RETRY_JOB_STUCK_THRESHOLD_HOURS == 24
    assert (settings.RETRY_JOB_MAX_ATTEMPTS_ARCHIVES, settings.RETRY_JOB_MAX_ATTEMPTS_MESSAGES) == (3, 3)
    assert (settings.RETRY_JOB_MAX_ATTEMPTS_CHUNKS, settings.RETRY_JOB_MAX_ATTEMPTS_THREADS) == (5, 5)
    assert RetryPolicy.of_events(settings).transient == Backoff(3, 5, 60)


def test_the_settings_of_ingestion_are_closed_and_bounded_by_default() -> None:
    settings = load_settings(LOCAL)
    assert (settings.ALLOW_LOCAL_SOURCES, settings.SOURCE_ALLOWED_HOSTS) == (False, "")
    assert UnpackLimits.of(settings.ARCHIVE_MAX_BYTES) == UnpackLimits(8 * 1024**3, 200, 200_000)
    assert TIMEOUT_SECONDS < FUNCTION_MINUTES * 60
    assert load_settings({**LOCAL, "ALLOW_LOCAL_SOURCES": "true"}).ALLOW_LOCAL_SOURCES is True


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ARCHIVE_MAX_BYTES", "0"),
        ("ALLOW_LOCAL_SOURCES", "perhaps"),
    ],
)
def test_a_malformed_setting_of_ingestion_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: "):
        load_settings({**LOCAL, name: value})


@pytest.mark.requirement("R-728")
def test_every_problem_is_one_line_that_names_its_setting_and_all_are_listed_at_once() -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(
            {"RETRY_MAX_ATTEMPTS": "many", "RETRY_JOB_INTERVAL_SECONDS": "0", "SEARCH_ENDPOINT": ""}
        )
    lines = str(raised.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "COSMOS_ENDPOINT",
        "SEARCH_ENDPOINT",
        "RETRY_MAX_ATTEMPTS",
        "RETRY_JOB_INTERVAL_SECONDS",
        "SERVICEBUS_CONNECTION",
        "STORAGE_CONNECTION",
    ]


def test_a_malformed_value_is_not_repeated_in_the_message() -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings({**LOCAL, "RETRY_MAX_ATTEMPTS": "a-pasted-secret"})
    assert "a-pasted-secret" not in str(raised.value)


def test_secrets_do_not_show_when_settings_are_printed() -> None:
    assert "hidden" not in repr(load_settings(LOCAL))


def test_managed_identity_needs_addresses_only() -> None:
    settings = load_settings(
        {
            "COSMOS_ENDPOINT": "https://account.documents.example",
            "SEARCH_ENDPOINT": "https://search.example",
            "SERVICEBUS_CONNECTION__fullyQualifiedNamespace": "bus.example",
            "STORAGE_BLOB_ENDPOINT": "https://blobs.example",
        }
    )
    assert settings.SERVICEBUS_CONNECTION__fullyQualifiedNamespace == "bus.example"
    assert (settings.COSMOS_KEY, settings.SERVICEBUS_CONNECTION) == (None, None)


@pytest.mark.requirement("R-412")
def test_texts_are_embedded_by_the_local_model_where_nothing_else_is_set() -> None:
    settings = load_settings(LOCAL)
    assert (settings.EMBEDDING_BACKEND, settings.EMBEDDING_MODEL) == ("openvino", "all-MiniLM-L6-v2")
    assert settings.EMBEDDING_MODEL_PATH is None


@pytest.mark.parametrize(
    "spelling", ["sentencetransformers", "sentence-transformers", "Sentence_Transformers"]
)
def test_the_embedding_backend_may_be_spelt_as_its_project_spells_it(spelling: str) -> None:
    assert load_settings({**LOCAL, "EMBEDDING_BACKEND": spelling}).EMBEDDING_BACKEND == "sentencetransformers"


def test_an_embedding_service_needs_its_address_and_the_length_of_its_vectors() -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings({**LOCAL, "EMBEDDING_BACKEND": "openai"})
    names = [line.partition(":")[0] for line in str(raised.value).splitlines()]
    assert names == ["EMBEDDING_ENDPOINT", "EMBEDDING_DIMENSION", "EMBEDDING_API_KEY"]
    by_identity = {"EMBEDDING_ENDPOINT": "https://ai.example", "EMBEDDING_DIMENSION": "1536"}
    settings = load_settings({**LOCAL, "EMBEDDING_BACKEND": "azure-openai", **by_identity})
    assert (settings.EMBEDDING_API_KEY, settings.EMBEDDING_DIMENSION) == (None, 1536)


@pytest.mark.parametrize(
    ("name", "value"),
    [("EMBEDDING_BACKEND", "word2vec"), ("EMBEDDING_DIMENSION", "0")],
)
def test_an_embedding_setting_that_is_unknown_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: "):
        load_settings({**LOCAL, name: value})


def test_settings_cannot_be_changed_after_they_were_read() -> None:
    settings = load_settings(LOCAL)
    with pytest.raises(ValueError, match="frozen"):
        settings.RETRY_MAX_ATTEMPTS = 1  # type: ignore[misc]
    assert isinstance(settings, Settings)


CHAT = {
    "SUMMARY_BACKEND": "openai",
    "SUMMARY_MODEL": "llama3",
    "SUMMARY_ENDPOINT": "http://localhost:11434/v1",
}


@pytest.mark.requirement("R-509")
def test_summaries_are_extractive_unless_a_chat_model_is_named_with_its_address() -> None:
    assert load_settings(LOCAL).SUMMARY_BACKEND == "extractive"
    assert load_settings({**LOCAL, **CHAT}).SUMMARY_MODEL == "llama3"
    azure = load_settings({**LOCAL, **CHAT, "SUMMARY_BACKEND": "Azure-OpenAI"})
    assert (azure.SUMMARY_BACKEND, azure.SUMMARY_API_KEY) == ("azureopenai", None)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"SUMMARY_ENDPOINT": ""}, "SUMMARY_ENDPOINT: missing or not a URL"),
        ({"SUMMARY_ENDPOINT": "localhost:11434"}, "SUMMARY_ENDPOINT: missing or not a URL"),
        ({"SUMMARY_MODEL": ""}, "SUMMARY_MODEL: missing"),
        ({"SUMMARY_BACKEND": "oracle"}, "SUMMARY_BACKEND: "),
        ({"SUMMARY_TIMEOUT_SECONDS": "0"}, "SUMMARY_TIMEOUT_SECONDS: "),
        ({"SUMMARY_ARCHIVE_TOKENS": "-1"}, "SUMMARY_ARCHIVE_TOKENS: "),
    ],
)
def test_a_chat_model_that_cannot_be_asked_is_refused_at_the_start(
    change: dict[str, str], named: str
) -> None:
    with pytest.raises(SettingsError, match=f"^{named}"):
        load_settings({**LOCAL, **CHAT, **change})


def test_a_race_may_not_be_waited_for_longer_than_a_function_may_run() -> None:
    timeout = json.loads((ROOT / "host.json").read_text())["functionTimeout"]
    assert timeout == f"00:{FUNCTION_MINUTES}:00"
    assert load_settings({**LOCAL, "RETRY_TTL_MINUTES": "30"}).RETRY_TTL_MINUTES == 30
    with pytest.raises(SettingsError, match=r"^RETRY_TTL_MINUTES: 31 is more than the 30 minutes"):
        load_settings({**LOCAL, "RETRY_TTL_MINUTES": "31"})


def test_a_model_in_a_folder_goes_by_its_true_name(tmp_path: Path) -> None:
    folder = tmp_path / "some-model"
    path = {**LOCAL, "EMBEDDING_MODEL_PATH": str(folder)}
    # The loader of the model reports that it is missing.
    assert load_settings(path).EMBEDDING_MODEL == "all-MiniLM-L6-v2"
    folder.mkdir()
    assert load_settings(path).EMBEDDING_MODEL == "some-model"
    (folder / "manifest.json").write_text('{"model": "all-mpnet-base-v2"}')
    assert load_settings(path).EMBEDDING_MODEL == "all-mpnet-base-v2"
    assert (
        load_settings({**path, "EMBEDDING_MODEL": "all-mpnet-base-v2"}).EMBEDDING_MODEL == "all-mpnet-base-v2"
    )
    with pytest.raises(SettingsError, match=r"^EMBEDDING_MODEL: another, but .* has all-mpnet-base-v2"):
        load_settings({**path, "EMBEDDING_MODEL": "another"})
    (folder / "manifest.json").write_text("no JSON")
    assert load_settings({**path, "EMBEDDING_MODEL": "another"}).EMBEDDING_MODEL == "another"
