"""No private data appears in a log line."""

import traceback
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from shared.azure.classify import classify
from shared.azure.telemetry.setup import clean_attributes, clean_stack, clean_text, secrets_of
from shared.core.errors import PermanentError
from tests.support.cpu import within_cpu

PRIVATE = "a private sentence\nand its second line"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("mail of ada.b+x@list.example.org came", "mail of (address) came"),
        ("Message-ID <1.2$3@host>", "Message-ID <(address)>"),
        ("https://ada:pass@host/path?sig=abc&x=1 failed", "https://host/path?... failed"),
        ("Endpoint=sb://x;SharedAccessKey=abc/def==;Y=1", "Endpoint=sb://x;SharedAccessKey=...;Y=1"),
        ("AccountKey=Zm9v; done", "AccountKey=...; done"),
        ('{"api-key": "12345"}', '{"api-key": "..."}'),
        ("Authorization: Bearer abcdefghijk.xyz", "Authorization: Bearer ..."),
        ("token eyJhbGciOiJ9aaa.eyJzdWIiOi.sig-na", "token ..."),
        ("password=hunter2, again", "password=..., again"),
        ("chunking processed chunking-abc in 0.10s {'chunks': 3}", None),
        ("Retry attempt 2/8 for event with idempotency key: parsing-0123 (in 0.250 s)", None),
    ],
)
@pytest.mark.requirement("R-1104")
def test_addresses_and_secrets_are_taken_out_and_the_rest_is_left(said: str, kept: str | None) -> None:
    cleaned = clean_text(said)

    assert cleaned == (kept or said)


def test_values_of_secret_settings_are_taken_out_wherever_they_stand() -> None:
    settings = {
        "COSMOS_KEY": "very-secret-key",
        "STORAGE_CONNECTION": "AccountName=a;AccountKey=c3RvcmFnZQ==;",
        "COSMOS_DATABASE": "consensus-database",
        "APPLICATIONINSIGHTS_CONNECTION_STRING": "InstrumentationKey=an-address-not-a-secret",
    }
    secrets = secrets_of(settings)

    assert clean_text("key very-secret-key, and c3RvcmFnZQ==", secrets) == "key ..., and ..."
    assert clean_text("in consensus-database", secrets) == "in consensus-database"
    assert not any("an-address" in secret for secret in secrets)


def test_a_long_line_is_cut() -> None:
    assert len(clean_text("word " * 10_000)) == 1_000


@pytest.mark.parametrize("word", ["x", "-eyJ-", "a@", "=input_value"])
def test_a_line_without_an_end_is_cleaned_in_no_time(word: str) -> None:
    with within_cpu(3.0):
        assert len(clean_text(word * 200_000)) <= 1_000
        clean_stack(f"shared.core.errors.PermanentError: {word * 200_000}")


def test_what_is_cut_off_shows_no_address_by_half() -> None:
    # Each address becomes short, so that the cut comes near the end of the line.
    filler = f"({'a' * 80}@example.org) " * 52
    for size in range(70):
        cleaned = clean_text(f"{filler}{'.' * size} private.person@example.org " + "word " * 1000)
        assert "private" not in cleaned


def test_webhooks_are_secrets_with_their_addresses() -> None:
    hooks = '[{"name": "chat", "url": "https://hooks.example/T0/abcdef", "secret": "0123456789abcdef"}]'
    secrets = secrets_of({"WEBHOOKS": hooks})
    assert clean_text("POST https://hooks.example/T0/abcdef: 0123456789abcdef", secrets) == "POST ...: ..."
    assert clean_text("chat", secrets) == "chat"
    assert secrets_of({"WEBHOOKS": "[not json at all"}) == ["[not json at all"]


def test_the_password_of_the_mail_server_is_secret_as_it_is_written_and_as_it_is_sent() -> None:
    url = "smtps://digests:sword%20fish@mail.example.org"
    assert set(secrets_of({"SMTP_URL": url})) == {url, "sword%20fish", "sword fish"}
    assert secrets_of({"SMTP_URL": "smtp://[broken"}) == ["smtp://[broken"]


def stack_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def raised(work: Any) -> BaseException:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - any error is inspected
        return error
    raise AssertionError("nothing was raised")


def test_the_text_of_a_foreign_exception_stays_behind_and_its_frames_do_not() -> None:
    error = raised(partial(int, PRIVATE))
    cleaned = clean_stack(stack_of(error))

    assert "private sentence" not in cleaned
    assert "second line" not in cleaned
    assert 'test_privacy.py", line' in cleaned
    assert cleaned.endswith("ValueError")


def test_a_validator_quotes_nothing() -> None:
    class Thing(BaseModel):
        number: int

    def validate() -> None:
        Thing.model_validate({"number": PRIVATE})

    error = raised(validate)
    assert isinstance(error, ValidationError)
    assert "private sentence" not in clean_stack(stack_of(error))
    assert "private sentence" not in clean_text(str(error))
    assert "private sentence" not in classify(error).for_logs


def test_the_text_of_our_own_exception_is_kept_without_addresses() -> None:
    def fail() -> None:
        try:
            int(PRIVATE)
        except ValueError as error:
            raise PermanentError("no message of ada@example.org was stored") from error

    cleaned = clean_stack(stack_of(raised(fail)))

    assert "shared.core.errors.PermanentError: no message of (address) was stored" in cleaned
    assert "The above exception was the direct cause" in cleaned
    assert "private sentence" not in cleaned


def test_what_a_caller_puts_beside_a_log_line_is_dropped() -> None:
    attributes = {
        "body": PRIVATE,
        "exception.type": "E",
        "exception.message": "to ada@example.org",
    }
    clean_attributes(attributes)

    assert attributes == {"exception.type": "E", "exception.message": "to (address)"}
