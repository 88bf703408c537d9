"""Messages are stored without a model, and the stored document is the document of the model."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.core.ids import message_key
from shared.core.times import stored_time
from shared.mail.models import ParsedMail as ParsedMessage
from shared.mail.models import Skipped
from shared.mail.parse import parse_archive, parse_message
from shared.models.containers import read_document
from shared.models.threads import Message
from shared.thread_store.message_documents import (
    ArchiveOfSource,
    incoming_messages,
    provenance,
    raw_message,
)
from shared.threading.prepared_message import prepare_message
from tests.mail.hard_mails import CASES
from tests.support.documents import CREATED
from tests.support.mail_data import WHY_SKIPPED, archives, open_archive

NOW = stored_time(datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC))


ARCHIVE = ArchiveOfSource("archive", "list", NOW)


def stored_documents(messages: Sequence[ParsedMessage]) -> list[dict[str, Any]]:
    written = []
    for node, mail in incoming_messages(map(prepare_message, messages), ARCHIVE).items():
        labels = provenance("list", mail.copies_with([]), ["archive"], [])
        document = raw_message(
            mail, f"thread of {node}", stored_time(CREATED), {**labels, "label_version": 7}
        )
        assert document.partition == Message.partition_of(document.id)
        assert document.size is None or len(json.dumps(document.stored)) <= document.size
        written.append(document.stored)
    return written


def check(messages: Sequence[ParsedMessage]) -> None:
    assert messages
    for message in messages:
        (stored,) = stored_documents([message])
        assert read_document(Message, stored).to_cosmos() == stored


def test_a_hard_mail_is_stored_as_its_model_would_be() -> None:
    check([parse_message(case.mail) for case in CASES])


@pytest.mark.parametrize(
    "path",
    list(archives()) or [pytest.param(Path(), marks=pytest.mark.skip(reason=WHY_SKIPPED))],
    ids=lambda path: path.name,
)
def test_a_real_mail_is_stored_as_its_model_would_be(path: Path) -> None:
    with open_archive(path) as stream:
        check([parsed for parsed in parse_archive(stream) if not isinstance(parsed, Skipped)])


def test_each_message_has_one_document_in_its_thread() -> None:
    messages = [parse_message(case.mail) for case in CASES]
    keys = {document["id"] for document in stored_documents(messages)}
    assert keys == {message_key(message.node, "list") for message in messages}


@pytest.mark.parametrize("text", ["\u5b57" * 400_000, '"' * 450_000, "\x01" * 400_000])
def test_a_message_that_would_make_too_large_a_document_is_cut_and_says_so(text: str) -> None:
    html = "Content-Type: text/html; charset=utf-8\n\n"
    (stored,) = stored_documents([parse_message(f"From: a@b.c\nMessage-ID: <a@b>\n{html}{text}".encode())])
    assert len(json.dumps(stored)) < 2_000_000
    assert {"html-too-large", "body-truncated"} & set(stored["warnings"])
    assert stored["segments"][-1]["end"] == len(stored["body_raw"]) >= 100_000
    assert read_document(Message, stored).to_cosmos() == stored
