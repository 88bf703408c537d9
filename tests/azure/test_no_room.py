"""A lack of space, memory or file handles is a transient failure."""

import errno

import pytest

from shared.azure.classify import classify
from shared.core.errors import ErrorKind


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EMFILE, "Too many open files"),
        MemoryError(),
    ],
)
def test_want_of_room_is_transient(error: Exception) -> None:
    assert classify(error).kind is ErrorKind.TRANSIENT


def test_a_file_that_is_not_there_is_not_a_want_of_room() -> None:
    assert classify(FileNotFoundError(errno.ENOENT, "no such file")).kind is ErrorKind.PERMANENT
