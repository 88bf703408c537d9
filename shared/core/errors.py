"""What can go wrong in a stage, and what follows from it.

    PipelineError
    ├── DocumentNotFoundError      a race: the event came before its document can be read
    ├── TransientError             may pass by itself
    │   ├── PartialWriteError      some items of a batch were not accepted, and may be later
    │   ├── RefusesEverythingError a service refuses whatever it is given: it is to blame, not the items
    │   ├── NewerVersionError      a later version of the app wrote this, and will understand it
    │   ├── ServiceSilentError     a service did not answer before the deadline of the call
    │   └── EncoderError           the encoder of texts failed
    │       ├── EncoderCrashError      its process died
    │       ├── EncoderMemoryError     it ran out of memory
    │       ├── EncoderTimeoutError    it did not answer in time
    │       └── EncoderStartError      it could not be started
    └── PermanentError             no retry will help
        ├── InvalidIdError         what was given as a document's id cannot be one
        ├── InvalidEventError      the message is no event that we know, or its data breaks the schema
        ├── InvalidDocumentError   a stored document breaks its schema
        ├── NotFoundError          there is nothing with the id that a request names
        ├── InvalidCursorError     a request's cursor is not one of ours, or was made for another list
        ├── InvalidEditError       a correction or placement cannot be made
        ├── EditConflictError      another operator changed the same first
        ├── RejectedItemsError     a store refused items for what they are
        └── UnencodableTextError   the encoder fails on a text however often and alone

`shared/clients/classify.py` sorts what the SDKs raise into the same three kinds.
"""

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


class OvertakenError(DocumentNotFoundError):
    """What was read had changed by the time that its outcome was written: whoever wrote has to write again.

    At once, and by itself: the event may be done already by others, who know nothing of that write.
    """


class TransientError(PipelineError):
    """A dependency failed in a way that may pass."""

    retry_after: float | None = None
    timed_out = False  # we hung up: the service may have done the work, and charge for it


class PartialWriteError(TransientError):
    """Some items of a batch were not accepted."""

    def __init__(self, message: str, failed: Mapping[str, str]) -> None:
        super().__init__(message)
        self.failed = dict(failed)


class RefusesEverythingError(TransientError):
    """A service refuses whatever it is given."""


class NewerVersionError(TransientError):
    """A later version of the app wrote this.

    While two versions run side by side, the other one takes the next try. It is not this one's to judge.
    """


class ServiceSilentError(TransientError):
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


class EncoderStartError(EncoderError):
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
    """The cursor is not one of ours, or was made for another list. The message says which."""


class InvalidEditError(PermanentError):
    """An operator's correction or placement cannot be made. The message says why."""


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
    safe_to_log: bool = True  # its text is ours, or a service's: it may stand in a log that leaves the app

    @property
    def for_logs(self) -> str:
        return self.message if self.safe_to_log else "its text is in the failure record"


def add_details(error: BaseException, **details: Any) -> None:
    """Note on an error, whoever raises it, how far the work had come."""
    setattr(error, _DETAILS, {**getattr(error, _DETAILS, {}), **details})


_DETAILS = "pipeline_details"
