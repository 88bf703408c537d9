"""The scopes of digests: `weekly:<source>:2024-W03`, `consensus:<source>:2024-01`, `draft:<name>`."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shared.core.ids import scope_id
from shared.mail.mentions import draft_base
from shared.models.values import SummaryType

MAX_DRAFTS = 50
MAX_PERIODS = 60
MAX_SOURCES = 5
"""The sources and drafts of one thread, so that a mail with a thousand drafts has few digests."""
_WEEK = re.compile(r"(\d{4})-W(\d{2})")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_DRAFT = re.compile(r"draft-[a-z0-9-]{1,150}|(?:RFC|BCP|STD)\d{1,5}")
_KINDS = {
    "weekly": SummaryType.WEEKLY,
    "consensus": SummaryType.CONSENSUS,
    "draft": SummaryType.DRAFT_FOCUSED,
}


class InvalidScopeError(ValueError):
    """There is no such digest."""


@dataclass(frozen=True, slots=True)
class DigestScope:
    """A digest's scope. `period` is [start, end) in UTC, and a draft has none."""

    name: str
    kind: SummaryType
    source: str | None = None
    label: str = ""
    period: tuple[datetime, datetime] | None = None
    draft: str | None = None

    @property
    def id(self) -> str:
        return scope_id(self.name)

    @property
    def title(self) -> str:
        if self.draft is not None:
            return f"Discussion of {self.draft}"
        label = "Week" if self.kind is SummaryType.WEEKLY else "Consensus"
        return f"{label} {self.label} of {self.source}"


def parse_scope(name: str) -> DigestScope:
    kind, _, rest = name.partition(":")
    if kind == "draft" and _DRAFT.fullmatch(rest) and draft_base(rest) == rest:
        return DigestScope(name, SummaryType.DRAFT_FOCUSED, label=rest, draft=rest)
    source, _, label = rest.rpartition(":")
    period = _week(label) if kind == "weekly" else _month(label) if kind == "consensus" else None
    if not source or period is None:
        raise InvalidScopeError(
            f"{name!r} is not a digest. Digests are weekly:<source>:2024-W03, consensus:<source>:2024-01 and"
            " draft:<name without version> are"
        )
    return DigestScope(name, _KINDS[kind], source, label, period)


def scopes_of_thread(
    sources: Sequence[str], draft_mentions: Iterable[str], dates: Iterable[datetime]
) -> list[DigestScope]:
    """Return the digests that a thread of these sources, drafts and dates belongs to."""
    days = sorted({date.astimezone(UTC).date() for date in dates})
    weeks = dict.fromkeys("{}-W{:02d}".format(*day.isocalendar()[:2]) for day in days)
    months = dict.fromkeys(day.strftime("%Y-%m") for day in days)
    sources = sources[:MAX_SOURCES]
    drafts = dict.fromkeys(draft_base(mention) for mention in draft_mentions)
    names = [f"weekly:{source}:{week}" for source in sources for week in list(weeks)[-MAX_PERIODS:]]
    names += [f"consensus:{source}:{month}" for source in sources for month in list(months)[-MAX_PERIODS:]]
    names += [f"draft:{draft}" for draft in list(drafts)[:MAX_DRAFTS] if _DRAFT.fullmatch(draft)]
    return [scope for name in names if (scope := _parsed(name)) is not None]


def _parsed(name: str) -> DigestScope | None:
    try:
        return parse_scope(name)
    except InvalidScopeError:  # A hostile mail may have a date before the year 1000.
        return None


def _week(label: str) -> tuple[datetime, datetime] | None:
    match = _WEEK.fullmatch(label)
    try:
        monday = datetime.fromisocalendar(int(match[1]), int(match[2]), 1) if match else None
        return (monday.replace(tzinfo=UTC), _later(monday, 7)) if monday else None
    except (ValueError, OverflowError):
        return None


def _month(label: str) -> tuple[datetime, datetime] | None:
    match = _MONTH.fullmatch(label)
    try:
        first = datetime(int(match[1]), int(match[2]), 1, tzinfo=UTC) if match else None
        return (first, _later(first, 31).replace(day=1)) if first else None
    except (ValueError, OverflowError):
        return None


def _later(start: datetime, days: int) -> datetime:
    return (start + timedelta(days=days)).replace(tzinfo=UTC)
