"""The messages that begin a version of a patch series."""

import pytest

from shared.models.threads import Message
from shared.views.conversation import PatchSubject, patch_subject, versions_in_thread
from tests.support.documents import CREATED


def message(number: int, subject: str) -> Message:
    return Message(
        created_at=CREATED,
        id=f"k{number}",
        message_key=f"k{number}",
        message_id=f"<{number}@x>",
        archive_id="a",
        thread_id="t",
        subject=subject,
    )


@pytest.mark.parametrize(
    ("subject", "found"),
    [
        ("[PATCH] parser: keep it", PatchSubject(1, 0, "parser: keep it")),
        ("[PATCH v3 02/12] parser: keep it", PatchSubject(3, 2, "parser: keep it")),
        ("[list] [RFC PATCH v2 0/3]  parser:  keep it", PatchSubject(2, 0, "parser: keep it")),
        ("Re: [PATCH v3 02/12] parser: keep it", None),
        ("[ANNOUNCE] v3 is out", None),
        ("A patch", None),
        ("[" * 5000, None),
    ],
)
def test_a_subject_says_version_and_part(subject: str, found: PatchSubject | None) -> None:
    assert patch_subject(subject) == found


def test_a_version_begins_with_its_cover_letter() -> None:
    subjects = [
        "[PATCH 1/2] one", "Re: [PATCH 1/2] one", "[PATCH v2 2/2] two", "[PATCH v2 0/2] all", "[PATCH v10] x",
    ]  # fmt: skip
    messages = [message(number, subject) for number, subject in enumerate(subjects)]
    assert [(number, each.id) for number, each in versions_in_thread(messages)] == [
        (1, "k0"),
        (2, "k3"),
        (10, "k4"),
    ]
