"""An archive as batches of prepared messages, and how a batch crosses from the reader process to the app."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shared.domain.mail.models import ParsedMail, Share, Skipped
from shared.domain.mail.parse import parse_archive
from shared.domain.threading.assignment import Links
from shared.domain.threading.prepared_message import PreparedMessage, prepare_message
from shared.domain.threading.subject_links import SubjectEntry
from shared.ingestion.unpacking.members import SkippedMember, open_members

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
