"""What can go wrong in a stage. `shared/azure/classify.py` sorts the SDKs' errors into the same kinds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class PipelineError(Exception):
    """The pipeline failed."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class DocumentNotFoundError(PipelineError):
    """A document that an event announces cannot be read yet."""


class ConflictError(DocumentNotFoundError):
    """What was read had changed by the time that its outcome was written: the stage repeats it at once."""


class TransientError(PipelineError):
    """A dependency failed in a way that may pass."""

    retry_after: float | None = None
    timed_out = False  # we hung up: the service may have done the work, and charge for it


class DependencyError(TransientError):
    """A dependency is silent, refuses or throttles: what was being done is not to blame."""


class PartialWriteError(DependencyError):
    """Some items of a batch were not accepted."""

    def __init__(self, message: str, failed: Mapping[str, str]) -> None:
        super().__init__(message)
        self.failed = dict(failed)


class RefusesEverythingError(DependencyError):
    """A service refuses whatever it is given."""


class NewerVersionError(TransientError):
    """A later version of the app wrote this, and will take the next try."""


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
    """No retry will help."""


class InvalidEventError(PermanentError):
    """The message is not a valid event."""


class InvalidIdError(PermanentError):
    """What was given cannot be the id of a document."""


class NotFoundError(PermanentError):
    """There is nothing with this id."""


class InvalidCursorError(PermanentError):
    """The cursor is not one of ours, or was made for another list."""


class InvalidEditError(PermanentError):
    """An operator's correction or placement cannot be made."""


class EditConflictError(PermanentError):
    """Another operator changed the same first."""


class InvalidDocumentError(PermanentError):
    """A stored document is not valid."""


class RejectedItemsError(PermanentError):
    """Items of a batch were refused for what they are."""

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
    """An error, sorted."""

    kind: ErrorKind
    error_type: str
    message: str
    retry_after: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    safe_to_log: bool = True  # false where the text may come from a mail
    is_outage: bool = False  # a dependency explains it: it costs a document no attempt

    @property
    def for_logs(self) -> str:
        return self.message if self.safe_to_log else "its text is in the failure record"


def add_details(error: BaseException, **details: Any) -> None:
    """Note on an error, whoever raises it, how far the work had come."""
    setattr(error, _DETAILS, {**getattr(error, _DETAILS, {}), **details})


_DETAILS = "pipeline_details"
