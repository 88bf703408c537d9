"""What a search is narrowed to, as an OData filter. Values are quoted here and nowhere else."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.core.errors import InvalidIdError


@dataclass(frozen=True)
class Filters:
    thread_id: str | None = None
    message_key: str | None = None
    archive_id: str | None = None
    source: str | None = None
    sender: str | None = None
    drafts: tuple[str, ...] = ()  # any of them
    since: datetime | None = None
    until: datetime | None = None

    def to_odata(self) -> str | None:
        terms = [
            f"{name} eq {_quoted(value)}"
            for name in ("thread_id", "message_key", "source", "sender")
            if (value := getattr(self, name)) is not None
        ]
        if self.archive_id is not None:
            terms.append(_of_archive(_quoted(self.archive_id)))
        if self.drafts:
            terms.append(
                f"draft_mentions/any(mention: search.in(mention, {_quoted(','.join(self.drafts))}, ','))"
            )
        if self.since is not None:
            terms.append(f"date ge {_instant(self.since)}")
        if self.until is not None:
            terms.append(f"date lt {_instant(self.until)}")
        return " and ".join(terms) or None


def _of_archive(archive: str) -> str:
    """What was indexed before it could be in several has the first one only."""
    return f"(archive_ids/any(one: one eq {archive}) or archive_id eq {archive})"


def any_of(field: str, values: Sequence[str]) -> str:
    """Documents whose field has one of these values."""
    if any("|" in value for value in values):  # it would be read as two
        raise InvalidIdError("an id with | cannot be looked for among others")
    return f"search.in({field}, {_quoted('|'.join(values))}, '|')"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _instant(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
