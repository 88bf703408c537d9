"""Messages are stored without making a model of each: what is stored must be what the model would store."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shared.core.times import stored_time
from shared.documents.containers import read_document
from shared.documents.messages import Message
from shared.documents.prepared_message import prepare_message
from shared.domain.mail.models import ParsedMail as ParsedMessage
from shared.domain.mail.models import Skipped
from shared.domain.mail.parse import parse_archive, parse_message
from shared.threads.message_documents import message_documents, stored_message
from tests.domain.mail.hard_mails import CASES
from tests.support.documents import CREATED
from tests.support.mail_data import archives, open_archive

NOW = stored_time(datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC))


def check(messages: Sequence[ParsedMessage]) -> None:
    assert messages
    for message in messages:
        stored = stored_message(prepare_message(message), "thread", "archive", NOW)
        assert read_document(Message, stored).to_cosmos() == stored


def test_a_hard_mail_is_stored_as_its_model_would_be() -> None:
    check([parse_message(case.mail) for case in CASES])


@pytest.mark.parametrize("path", list(archives()), ids=lambda path: path.name)
def test_a_real_mail_is_stored_as_its_model_would_be(path: Path) -> None:
    with open_archive(path) as stream:
        check([each for each in parse_archive(stream) if not isinstance(each, Skipped)])


def test_each_message_has_one_document_in_its_thread() -> None:
    messages = [parse_message(case.mail) for case in CASES]
    places = {each.node: f"thread of {each.node}" for each in messages}
    documents = message_documents([prepare_message(each) for each in messages], places, "archive", CREATED)
    assert set(documents) == {each.message_key for each in messages}
    assert all(each.partition_value == each.stored["thread_id"] for each in documents.values())
    assert all(len(json.dumps(each.stored)) <= (each.size or 0) for each in documents.values())


@pytest.mark.parametrize("text", ["\u5b57" * 400_000, '"' * 450_000, "\x01" * 400_000])
def test_a_message_that_would_make_too_large_a_document_is_cut_and_says_so(text: str) -> None:
    html = "Content-Type: text/html; charset=utf-8\n\n"
    arrival = prepare_message(parse_message(f"From: a@b.c\nMessage-ID: <a@b>\n{html}{text}".encode()))
    stored = stored_message(arrival, "thread", "archive", NOW)
    assert len(json.dumps(stored)) < 2_000_000
    assert {"html-too-large", "body-truncated"} & set(stored["warnings"])
    assert stored["segments"][-1]["end"] == len(stored["body_raw"]) >= 100_000
    assert read_document(Message, stored).to_cosmos() == stored
