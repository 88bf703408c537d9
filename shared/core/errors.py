"""The errors of stages. `shared/azure/classify.py` maps SDK errors to the same kinds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class PipelineError(Exception):
    """The pipeline failed."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class DocumentNotFoundError(PipelineError):
    """A document that an event announces is not readable yet."""


class ConflictError(DocumentNotFoundError):
    """Another writer changed a document between read and write. The stage repeats immediately."""


class TransientError(PipelineError):
    """A dependency failed, and a retry may help."""

    retry_after: float | None = None
    timed_out = False  # After a time-out of this app, the service may have done and charged the work.


class DependencyError(TransientError):
    """A dependency does not answer, refuses or throttles. The document is not the cause."""


class PartialWriteError(DependencyError):
    """Some items of a batch were not stored."""

    def __init__(self, message: str, failed: Mapping[str, str]) -> None:
        super().__init__(message)
        self.failed = dict(failed)


class RefusesEverythingError(DependencyError):
    """A service refuses every request."""


class NewerVersionError(TransientError):
    """A later version of the app wrote this, and will process the next attempt."""


class ServiceSilentError(DependencyError):
    """A service did not answer before the deadline."""

    timed_out = True

    def __init__(self, message: str, service: str) -> None:
        super().__init__(message)
        add_details(self, service=service)


class EncoderError(TransientError):
    """The encoder failed."""


class EncoderCrashError(EncoderError):
    """The encoder's process died."""


class EncoderMemoryError(EncoderError):
    """The encoder ran out of memory."""


class EncoderTimeoutError(EncoderError):
    """The encoder did not answer in time."""


class EncoderStartError(EncoderError, DependencyError):
    """The encoder could not be started."""


class PermanentError(PipelineError):
    """A retry does not help."""


class InvalidEventError(PermanentError):
    """The message is not a valid event."""


class InvalidIdError(PermanentError):
    """The text cannot be a document id."""


class NotFoundError(PermanentError):
    """No document has this id."""


class InvalidCursorError(PermanentError):
    """The cursor is invalid, or belongs to another list."""


class InvalidEditError(PermanentError):
    """An operator's correction or placement cannot be made."""


class EditConflictError(PermanentError):
    """Another operator changed the document first."""


class InvalidDocumentError(PermanentError):
    """A stored document is not valid."""


class RejectedItemsError(PermanentError):
    """Items of a batch were refused for their content."""

    def __init__(self, message: str, failed: Mapping[str, str]) -> None:
        super().__init__(message)
        self.failed = dict(failed)


class UnencodableTextError(PermanentError):
    """The encoder fails on a text."""


class ErrorKind(StrEnum):
    RACE = "race"
    TRANSIENT = "transient"
    PERMANENT = "permanent"


@dataclass(frozen=True)
class ClassifiedError:
    """An error with its kind."""

    kind: ErrorKind
    error_type: str
    message: str
    retry_after: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    safe_to_log: bool = True  # False if the text may come from a mail.
    is_outage: bool = False  # The cause is a dependency, so it does not count as an attempt of the document.

    @property
    def for_logs(self) -> str:
        return self.message if self.safe_to_log else "its text is in the failure record"


def add_details(error: BaseException, **details: Any) -> None:
    """Add details about the progress of the work to any error."""
    setattr(error, _DETAILS, {**getattr(error, _DETAILS, {}), **details})


_DETAILS = "pipeline_details"
