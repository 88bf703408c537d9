"""The group of a failure: failures with the same group have one cause."""

import pytest

from shared.core.errors import ClassifiedError, ErrorKind
from shared.pipeline.failures import error_hash


def hash_of(message: str) -> str:
    return error_hash("parsing", ClassifiedError(ErrorKind.PERMANENT, "NoMessagesError", message))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "0a1b2c3d4e5f6a7b/january.mbox: none of 3 messages could be parsed",
            "ffff2c3d4e5f6a7b/notes-of-may.mbox.gz: none of 1 messages could be parsed",
        ),
        ("list.mbox is no mail", "another-list.zip is no mail"),
        ("0a1b2c3d/my list (2019).mbox: it is encrypted", "0a1b2c3d/Liste de mars 3: it is encrypted"),
        ("a list, of May & June.zip: it is encrypted", "list.zip: it is encrypted"),
        ("message <a@example.org> at 12", "message <b@example.org> at 99"),
    ],
)
def test_groups_do_not_split_by_the_name_of_a_file_or_a_number(first: str, second: str) -> None:
    assert hash_of(first) == hash_of(second)


def test_another_cause_is_another_group() -> None:
    assert hash_of("a/january.mbox: none of 3 messages could be parsed") != hash_of("a/january.mbox: no mail")
    assert hash_of("x" * 5000 + "/") != hash_of("y")
