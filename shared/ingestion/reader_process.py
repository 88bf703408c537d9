"""The reader process: `python -m shared.ingestion.reader_process`. It reads one archive after the other.

A request names a path, and which share of the archive's messages is wanted of how many. The answers are
batches of messages (a body of marshal), and at the end of each archive whether it could be read.
"""

import marshal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from shared.core.frames import Frame, encode_frame, read_frame
from shared.core.lazy_import import lazy, tune_garbage_collector
from shared.domain.mail.models import MailboxError, ParsedMail, Share, Skipped
from shared.domain.mail.parse import parse_archive
from shared.domain.threading.assignment import Links
from shared.domain.threading.prepared_message import PreparedMessage, prepare_message
from shared.domain.threading.subject_links import SubjectEntry
from shared.ingestion.archive_members import SkippedMember, open_members
from shared.ingestion.errors import ArchiveError

if TYPE_CHECKING:
    import traceback
else:
    traceback = lazy("traceback")

BATCH = 100
BATCH_SIZE = 1_000_000  # characters of text


_Found = tuple[int, ParsedMail | Skipped]
"""With the number of the mailbox in the archive."""


class Batch(NamedTuple):
    arrivals: list[PreparedMessage]
    skipped: list[Skipped]


def read_batches(path: Path, share: Share | None = None) -> Generator[Batch, None, None]:
    """The messages of all mailboxes in the archive, however it is packed, and what was skipped.

    Several processes may each read a share of the messages. The first share reports what was skipped.
    """
    left_out: list[SkippedMember] = []
    on_skip = left_out.append if share is None or share.number == 0 else _ignore
    found = (
        (number, mail)
        for number, member in enumerate(open_members(path, on_skip=on_skip))
        for mail in parse_archive(member.stream, share=share)
    )
    while some := _next_batch(found):
        yield _batch(some, left_out)
        left_out.clear()
    if left_out:
        yield _batch([], left_out)


def _ignore(_: SkippedMember) -> None:
    pass


def _next_batch(found: Iterator[_Found]) -> list[_Found]:
    """As many as make a batch; fewer where they are large: batches wait in memory."""
    some: list[_Found] = []
    size = 0
    while len(some) < BATCH and size < BATCH_SIZE and (one := next(found, None)) is not None:
        some.append(one)
        mail = one[1]
        size += len(mail.body_raw) + len(mail.body_html or "") if isinstance(mail, ParsedMail) else 0
    return some


def _batch(found: list[_Found], left_out: list[SkippedMember]) -> Batch:
    skipped = [Skipped(0, 0, 0, f"{member.name}: {member.reason}") for member in left_out]
    skipped += [mail for _, mail in found if isinstance(mail, Skipped)]
    arrivals = [prepare_message(mail, member) for member, mail in found if isinstance(mail, ParsedMail)]
    return Batch(arrivals, skipped)


def batch_to_marshal(batch: Batch) -> Any:
    """As marshal can write it."""
    arrivals = [
        ((links.node, links.ancestors, [tuple(entry) for entry in links.entries]), document, size)
        for links, document, size in batch.arrivals
    ]
    return arrivals, [(part.index, part.offset, part.size, part.reason) for part in batch.skipped]


def batch_from_marshal(values: Any) -> Batch:
    """What `batch_to_marshal` made."""
    arrivals, skipped = values
    return Batch([_arrival(*arrival) for arrival in arrivals], [Skipped(*part) for part in skipped])


def _arrival(links: Any, document: dict[str, Any], size: int) -> PreparedMessage:
    node, ancestors, entries = links
    known = Links(node, ancestors, [SubjectEntry(*entry) for entry in entries])
    return PreparedMessage(known, document, size)


def main() -> None:
    tune_garbage_collector()
    answers = sys.stdout.buffer
    while (request := read_frame(sys.stdin.buffer)) is not None:
        share = Share(request.header["share"], request.header["of"])
        _read(Path(request.header["path"]), share, answers)


def _read(path: Path, share: Share, answers: IO[bytes]) -> None:
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
