"""What can be wrong with a whole archive. What is wrong with one message is a `Skipped` instead.

MailboxError
├── EmptyArchive
└── NotAMailbox
"""

__all__ = ["EmptyArchive", "MailboxError", "NotAMailbox"]


class MailboxError(ValueError):
    """The archive cannot be read as mail."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class EmptyArchive(MailboxError):
    """The archive is empty: it holds no bytes but white space. Fetch it again or remove it from the source."""


class NotAMailbox(MailboxError):
    """The archive has no From line, no MMDF separator and no mail headers. Is it an mbox or an .eml at all?"""
