"""Operations: a fetch of a source, or a bulk action of an operator."""

from enum import StrEnum

from shared.documents.base import Document, Subdocument, UtcTime


class OperationStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"


class FetchedArchive(Subdocument):
    archive_id: str
    filename: str
    duplicate: bool


class RefusedFile(Subdocument):
    filename: str
    reason: str


class JoinedUpload(Subdocument):
    """A file that was sent in parts, and lies whole in the container of archives until it is taken in."""

    path: str
    filename: str
    size: int


class Operation(Document):
    """One fetch of a source, for those who asked for it to follow. The container forgets it after a while."""

    container = "operations"

    source: str
    requested_by: str
    status: OperationStatus = OperationStatus.PENDING
    started_at: UtcTime | None = None
    finished_at: UtcTime | None = None
    archives: list[FetchedArchive] = []  # the last hundred
    refused: list[RefusedFile] = []  # files that are no archives of mail, beside others that are
    upload: JoinedUpload | None = None  # what is taken in where no source is fetched
    error: str | None = None
