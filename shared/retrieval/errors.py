"""What a reader's request can fail with. The API answers with a status, the command line with a line."""

from shared.core.errors import PermanentError


class RetrievalError(PermanentError):
    """What was asked for cannot be given: the request is at fault, and asking again does not help."""


class NotFoundError(RetrievalError):
    """There is nothing with this id."""


class InvalidCursorError(RetrievalError):
    """The cursor is not one of ours, or was made for another list. The message says which."""
