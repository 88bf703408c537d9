"""What can be wrong with a whole archive. What is wrong with one message is a `Skipped` instead.

MailboxError
├── EmptyArchiveError
└── NotAMailboxError
"""


class MailboxError(ValueError):
    """The archive cannot be read as mail."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class EmptyArchiveError(MailboxError):
    """The archive holds nothing but white space. Fetch it again or remove it from the source."""


class NotAMailboxError(MailboxError):
    """The archive has no From line and no MMDF separator. Check that it is a mailbox at all."""
