"""Mail that breaks parsers, one by one."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.mail.models import ParsedMail
from shared.mail.parse import parse_message
from tests.mail.hard_mails import CASES, Case

READERS: dict[str, Callable[[ParsedMail], Any]] = {
    "new": lambda m: m.body_normalized.strip("\n"),
    "kinds": lambda m: [str(segment.kind) for segment in m.segments],
    "mentions": lambda m: m.draft_mentions,
    "attachments": lambda m: [tuple(attachment) for attachment in m.attachments],
}
CONTAINERS: dict[str, Callable[[ParsedMail], Any]] = {
    "warns": lambda m: m.warnings,
    "raw_has": lambda m: m.body_raw,
    "new_has": lambda m: m.body_normalized,
    "html_has": lambda m: m.body_html,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
@pytest.mark.requirement("R-304")
def test_a_hard_mail_is_read_as_a_person_would_read_it(case: Case) -> None:
    message = parse_message(case.mail)
    for field, expected in case.expected.items():
        if field in CONTAINERS:
            assert expected in CONTAINERS[field](message)
        elif field == "subject_starts":
            assert message.subject.startswith(expected)
        else:
            read = READERS.get(field, lambda m, name=field: getattr(m, name))
            assert read(message) == expected, field


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_hard_mail_loses_nothing(case: Case) -> None:
    """The segments tile the body, and the normalized text is its new segments."""
    message = parse_message(case.mail)
    position = 0
    for _, start, end in message.segments:
        assert start == position < end
        position = end
    assert position == len(message.body_raw)


def test_there_are_many_hard_mails_and_each_has_a_name_of_its_own() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
