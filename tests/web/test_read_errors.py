"""Only operators see the errors of documents, because errors can quote mail."""

from shared.azure.access import Caller, set_caller
from shared.models.base import ProcessingStatus
from shared.views.read_models import ChunkItem, MessageDetail, ThreadDetail
from tests.support.documents import new_chunk, new_message, new_thread


def test_an_error_is_shown_to_operators_alone() -> None:
    failed = {"lastError": "ValueError: Dear board, the plan", "status": ProcessingStatus.FAILED_MAX_RETRIES}

    def shown() -> set[str | None]:
        return {
            ThreadDetail.of(new_thread(**failed)).last_error,
            MessageDetail.of(new_message(**failed)).last_error,
            ChunkItem.of(new_chunk(**failed)).last_error,
        }

    set_caller(Caller())
    assert shown() == {None}
    set_caller(Caller(reads_all=True))
    assert shown() == {failed["lastError"]}
    set_caller(Caller())
