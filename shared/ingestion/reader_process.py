"""The reader process: `python -m shared.ingestion.reader_process`. It reads one archive at a time.

A request names a path and a share of its messages. The answers are batches (marshal) and a final status.
"""

import marshal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from shared.core.frames import Frame, encode_frame, read_frame
from shared.core.lazy_import import lazy, tune_garbage_collector
from shared.ingestion.archive_members import SkippedMember, open_members
from shared.ingestion.archive_source import ArchivePath, BlobPath
from shared.ingestion.errors import ArchiveError
from shared.mail.models import MailboxError, ParsedMail, Share, Skipped
from shared.mail.parse import parse_archive
from shared.threading.assignment import ReplyLinks
from shared.threading.prepared_message import PreparedMessage, prepare_message
from shared.threading.subject_links import SubjectEntry

if TYPE_CHECKING:
    import traceback
else:
    traceback = lazy("traceback")

BATCH = 100
BATCH_SIZE = 1_000_000  # Characters of text.


_Found = tuple[int, ParsedMail | Skipped]
"""The number of the mailbox in the archive, and a mail or a skipped part."""


class Batch(NamedTuple):
    arrivals: list[PreparedMessage]
    skipped: list[Skipped]


def read_batches(path: ArchivePath, share: Share | None = None) -> Generator[Batch, None, None]:
    """Yield the messages of all mailboxes in the archive. The first share also reports skipped members."""
    left_out: list[Skipped] = []

    def note(member: SkippedMember) -> None:
        if share is None or share.number == 0:
            left_out.append(Skipped(0, 0, 0, f"{member.name}: {member.reason}"))

    found = (
        (number, mail)
        for number, member in enumerate(open_members(path, on_skip=note))
        for mail in parse_archive(member.stream, share=share)
    )
    while part := _next_batch(found):
        skipped = [mail for _, mail in part if isinstance(mail, Skipped)]
        arrivals = [prepare_message(mail, number) for number, mail in part if isinstance(mail, ParsedMail)]
        yield Batch(arrivals, left_out + skipped)
        left_out = []
    if left_out:
        yield Batch([], left_out)


def _next_batch(found: Iterator[_Found]) -> list[_Found]:
    """Return the next batch: BATCH messages, or fewer if they are large, because batches wait in memory."""
    batch: list[_Found] = []
    size = 0
    while len(batch) < BATCH and size < BATCH_SIZE and (numbered := next(found, None)) is not None:
        batch.append(numbered)
        if isinstance(mail := numbered[1], ParsedMail):
            size += len(mail.body_raw) + len(mail.body_html or "")
    return batch


def batch_to_marshal(batch: Batch) -> Any:
    """Convert a batch to values that marshal can write."""
    arrivals = [
        ((links.node, links.ancestors, [tuple(entry) for entry in links.entries]), document, size)
        for links, document, size in batch.arrivals
    ]
    return arrivals, [(part.index, part.offset, part.size, part.reason) for part in batch.skipped]


def batch_from_marshal(values: Any) -> Batch:
    """Convert the values of `batch_to_marshal` to a batch."""
    arrivals, skipped = values
    prepared = [
        PreparedMessage(
            ReplyLinks(node, ancestors, [SubjectEntry(*entry) for entry in entries]), document, size
        )
        for (node, ancestors, entries), document, size in arrivals
    ]
    return Batch(prepared, [Skipped(*part) for part in skipped])


def main() -> None:
    tune_garbage_collector()
    answers = sys.stdout.buffer
    while (request := read_frame(sys.stdin.buffer)) is not None:
        share = Share(request.header["share"], request.header["of"])
        _read(_path_of(request.header, answers), share, answers)


def _path_of(header: dict[str, Any], answers: IO[bytes]) -> ArchivePath:
    """Return the file on disk, or a blob whose ranges the parent process fetches."""
    if "path" in header:
        return Path(header["path"])

    def fetch(offset: int, length: int) -> bytes:
        answers.write(encode_frame(Frame({"kind": "range", "offset": offset, "length": length})))
        answers.flush()
        if (answer := read_frame(sys.stdin.buffer)) is None:
            raise EOFError("the owner of this process has ended")
        return answer.body

    return BlobPath(header["name"], header["size"], fetch, header["piece"])


def _read(path: ArchivePath, share: Share, answers: IO[bytes]) -> None:
    try:
        for batch in read_batches(path, share):
            _send(answers, "batch", body=marshal.dumps(batch_to_marshal(batch)))
    except (ArchiveError, MailboxError) as error:
        _send(answers, "unreadable", str(error))
    except Exception:  # noqa: BLE001 - said where it can be seen, and the process can go on
        _send(answers, "failed", traceback.format_exc())
    else:
        _send(answers, "end")


def _send(answers: IO[bytes], kind: str, text: str = "", body: bytes = b"") -> None:
    answers.write(encode_frame(Frame({"kind": kind, "text": text}, body)))
    answers.flush()


if __name__ == "__main__":
    main()
