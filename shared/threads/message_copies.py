"""Which of several mails with one id is a source's message: the first in the list's own order.

The order is that of the archives as they came to the source, then the place in the archive; never a date that
the mail names. Every copy is kept with its place, so that its bytes can be had again. A copy that says
something else is a conflict: it is counted and shown, and changes nothing else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.domain.threading.prepared_message import PreparedMessage

MAX_COPIES = 100
"""Of one message: the first ones. The archives are all kept."""

StoredCopy = dict[str, Any]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class ArchiveOfSource:
    """An archive, as one of its sources has it."""

    id: str
    source: str
    arrived: str
    """When the source got it, as it is stored: archives are ordered by it."""


@dataclass
class Arrival:
    """A message of a slice: what is stored of it after, and what was before."""

    message: PreparedMessage
    """The first copy of the slice."""
    copies: list[StoredCopy]
    """All of them, stored and new, in order."""
    stored: Row | None
    elsewhere: list[Row] = field(default_factory=list)
    """The copies of other sources, as they are stored."""

    @property
    def is_first(self) -> bool:
        """Whether the slice's copy comes before all others: then it is the one to store."""
        return self.copies[0]["variant"] == self.message.document["variant"] and (
            self.stored is None or self.copies[0] not in self.stored["copies"]
        )

    @property
    def is_replaced(self) -> bool:
        """Whether what is stored gives way to it."""
        stored = self.stored
        return stored is not None and self.is_first and stored["variant"] != self.copies[0]["variant"]

    @property
    def says_the_same(self) -> bool:
        """Whether the slice's copy says what the first one says: then its links are those of the message."""
        return bool(self.copies[0]["identity"] == self.message.document["identity"])


def arrivals_of(
    messages: Iterable[PreparedMessage],
    archive: ArchiveOfSource,
    stored: Mapping[str, Row],
    elsewhere: Mapping[str, Sequence[Row]],
) -> list[Arrival]:
    """By node: `stored` has the source's own messages, `elsewhere` those of others."""
    by_node: dict[str, list[PreparedMessage]] = {}
    for message in messages:
        by_node.setdefault(message.node, []).append(message)
    return [
        _arrival(
            sorted(copies, key=_place) if len(copies) > 1 else copies,
            archive,
            stored.get(node),
            elsewhere.get(node, ()),
        )
        for node, copies in by_node.items()
    ]


def _arrival(
    messages: Sequence[PreparedMessage],
    archive: ArchiveOfSource,
    stored: Row | None,
    elsewhere: Sequence[Row],
) -> Arrival:
    copies = [_copy(message, archive) for message in messages]
    known = stored["copies"] if stored else []
    return Arrival(messages[0], in_list_order([*known, *copies]), stored, list(elsewhere))


def in_list_order(copies: Sequence[StoredCopy]) -> list[StoredCopy]:
    """Each once, the first ones."""
    if len(copies) == 1:
        return list(copies)
    unique = {(copy["archive_id"], *copy["place"]): copy for copy in copies}
    return sorted(unique.values(), key=_rank)[:MAX_COPIES]


def _rank(copy: StoredCopy) -> tuple[Any, ...]:
    return copy["arrived"], copy["archive_id"], *copy["place"]


def _place(message: PreparedMessage) -> list[int]:
    place: list[int] = message.document["place"]
    return place


def _copy(message: PreparedMessage, archive: ArchiveOfSource) -> StoredCopy:
    document = message.document
    return {
        "archive_id": archive.id,
        "arrived": archive.arrived,
        "place": document["place"],
        "variant": document["variant"],
        "identity": document["identity"],
    }


def provenance(
    source: str, copies: Sequence[StoredCopy], archives: Collection[str], elsewhere: Collection[Row]
) -> dict[str, Any]:
    """The fields that say where a message comes from, and what else goes by its id."""
    if len(copies) == 1 and not archives and not elsewhere:  # as nearly all are
        archive = copies[0]["archive_id"]
        return {
            "copies": list(copies),
            "place": copies[0]["place"],
            "archive_ids": [archive],
            "archive_id": archive,
            "elsewhere": [],
            "sources": [source],
            "conflicts": 0,
        }
    identity = copies[0]["identity"]
    others = {row["source"]: row["identity"] for row in elsewhere}
    same = [name for name, other in others.items() if other == identity]
    contents = {*[copy["identity"] for copy in copies], *others.values()}
    known = sorted({*archives, *[copy["archive_id"] for copy in copies]})
    return {
        "copies": list(copies),
        "place": copies[0]["place"],
        "archive_ids": known,
        "archive_id": known[0],
        "elsewhere": [{"source": name, "identity": others[name]} for name in sorted(others)],
        "sources": sorted({source, *same}),
        "conflicts": len(contents) - 1,
    }
