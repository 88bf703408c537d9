"""Chunks: a part of a message, of a size that an encoder can take."""

from typing import Any

from pydantic import Field

from shared.documents.base import ProcessingStatus, RetryableDocument


class Chunk(RetryableDocument):
    container = "chunks"
    partition_field = "thread_id"
    key_field = "chunk_id"

    chunk_id: str
    message_key: str
    message_id: str
    thread_id: str
    archive_id: str
    archive_ids: list[str] = []  # all that have its message; none where only `archive_id` was stored
    chunk_index: int = Field(ge=0)
    text: str
    token_count: int = Field(ge=0)
    start_offset: int = Field(ge=0)
    end_offset: int = Field(ge=0)
    overlap_with_previous: bool = False
    metadata: dict[str, Any] = {}
    embedding_generated: bool = False
    embedding_model: str | None = None
    status: ProcessingStatus = ProcessingStatus.PENDING
