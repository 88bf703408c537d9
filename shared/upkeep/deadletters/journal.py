"""The journal of an operation, in an append blob: its plan, and how far it has come.

    {"operation": ..., "plan": {queue: [numbers]}}   first, before anything is done
    {"queue": ..., "done": [numbers]}                sent or archived; they have not left the dead letters yet
    {"queue": ..., "restored": [numbers]}            in a purge's journal: sent again from the archive

A line may stand there twice, and an operation may do twice what it had no time to write down: both have no
second effect.
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.clients.blobs import DEAD_LETTERS_CONTAINER, Blobs
from shared.core.errors import DocumentNotFoundError, PermanentError

CONTAINER = DEAD_LETTERS_CONTAINER
KEPT = ".kept.jsonl"  # what stays of an archive when a deletion has taken records out of it
BLOCK_BYTES = 3 * 1024 * 1024  # a block of an append blob has at most 4 MiB


class JournalError(PermanentError):
    """A journal cannot be read."""


@dataclass(frozen=True)
class ArchiveTags:
    """The versions of the two blobs of an archive; None of one that is not there."""

    archive: str | None
    kept: str | None


@dataclass
class JournalState:
    """The content of a journal."""

    header: dict[str, Any] = field(default_factory=dict)
    done: dict[str, set[int]] = field(default_factory=dict)
    restored: dict[str, set[int]] = field(default_factory=dict)

    @property
    def plan(self) -> dict[str, list[int]]:
        return dict(self.header["plan"])


class Journal:
    def __init__(self, blobs: Blobs, operation: str) -> None:
        self._blobs = blobs
        self.path = f"operations/{operation}.jsonl"
        self.archive_path = f"archive/{operation}.jsonl"
        self.kept_path = f"archive/{operation}{KEPT}"

    async def begin(self, header: Mapping[str, Any]) -> None:
        await self._blobs.append(CONTAINER, self.path, _line(header))

    async def done(self, queue: str, numbers: Iterable[int]) -> None:
        await self._blobs.append(CONTAINER, self.path, _line({"queue": queue, "done": sorted(numbers)}))

    async def restored(self, queue: str, numbers: Iterable[int]) -> None:
        await self._blobs.append(CONTAINER, self.path, _line({"queue": queue, "restored": sorted(numbers)}))

    async def archive(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add them to the operation's archive, in blocks of the size that an append blob takes."""
        block = b""
        for record in records:
            line = _line(record)
            if block and len(block) + len(line) > BLOCK_BYTES:
                await self._blobs.append(CONTAINER, self.archive_path, block)
                block = b""
            block += line
        if block:
            await self._blobs.append(CONTAINER, self.archive_path, block)

    async def archived(self) -> AsyncIterator[dict[str, Any]]:
        """What the archive holds, each dead letter once."""
        seen: set[tuple[Any, Any]] = set()
        missing = None
        for path in (self.kept_path, self.archive_path):
            try:
                async for record in read_lines(self._blobs, path):
                    key = (record.get("queue"), record.get("sequence_number"))
                    if not (isinstance(key[0], str) and isinstance(key[1], int)):
                        raise JournalError(f"{CONTAINER}/{path}: a line of it names no dead letter")
                    if key not in seen:
                        seen.add(key)
                        yield record
            except DocumentNotFoundError as error:
                if missing is not None:
                    raise
                missing = error

    async def keep_only(self, records: Iterable[Mapping[str, Any]], etags: ArchiveTags) -> bool:
        """Leave these in the archive; False where it has changed since these tags were read.

        The append blob cannot be replaced in one step. So what stays is stored beside it before it goes, and
        after a crash between the two each record is there once or twice.
        """
        content = b"".join(map(_line, records))
        if content and not await self._blobs.upload_if(CONTAINER, self.kept_path, content, etags.kept):
            return False
        if etags.archive and not await self._blobs.delete_if(CONTAINER, self.archive_path, etags.archive):
            return False
        if etags.kept and not content:
            return await self._blobs.delete_if(CONTAINER, self.kept_path, etags.kept)
        return True

    async def tags(self) -> ArchiveTags:
        kept = await self._blobs.etag(CONTAINER, self.kept_path)
        return ArchiveTags(await self._blobs.etag(CONTAINER, self.archive_path), kept)

    async def read(self) -> JournalState:
        progress = JournalState()
        async for line in read_lines(self._blobs, self.path):
            if "plan" in line:
                progress.header = progress.header or line
            for kind, numbers in (("done", progress.done), ("restored", progress.restored)):
                if kind in line:
                    numbers.setdefault(line["queue"], set()).update(line[kind])
        if not progress.header:
            raise JournalError(f"{CONTAINER}/{self.path} has no plan in it")
        return progress


async def read_lines(blobs: Blobs, path: str) -> AsyncIterator[dict[str, Any]]:
    rest, number = b"", 0
    async for piece in blobs.read(CONTAINER, path):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number += 1
            yield _record(line, f"{CONTAINER}/{path}, line {number}")


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise JournalError(f"{where}: not as it was written; see the blob's earlier versions")
    return record


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"
