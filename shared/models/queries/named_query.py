"""Queries as values: named queries, paged lists, and shared conditions."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from shared.core.ids import REPORT_PREFIX


class Partitions(StrEnum):
    """The number of partitions that a query reads, which determines its cost."""

    ONE = "one"  # the caller names the partition
    ALL = "all"


@dataclass(frozen=True)
class NamedQuery:
    """A parameterized query over one container. Values are parameters, never part of the text.

    Metrics use the name (`query.<name>`), so each text has its own.
    """

    name: str
    container: str
    text: str
    partitions: Partitions = Partitions.ALL


@dataclass(frozen=True)
class ContainerQueries:
    """The builder of one container's queries. Each call states how many partitions the query reads."""

    container: str

    def one(self, name: str, text: str) -> NamedQuery:
        return NamedQuery(name, self.container, text, Partitions.ONE)

    def all(self, name: str, text: str) -> NamedQuery:
        return NamedQuery(name, self.container, text)


ListPosition = tuple[str | int | None, str]
"""The last row of a page: its value in the sorted column, and its id."""

PARTICIPANT = "EXISTS(SELECT VALUE p FROM p IN c.participants WHERE STRINGEQUALS(p.name, @participant, true))"
# The address has an index. Names are compared one by one, because their spelling varies.
ADDRESS = "EXISTS(SELECT VALUE p FROM p IN c.participants WHERE p.email = @address)"
# As in lists: a thread without a stated outcome has no known decision.
OUTCOME = (
    "((c.outcome.kind = @outcome AND c.outcome.tier = 'said')"
    " OR (@outcome = 'unresolved' AND c.outcome.tier = 'remark'))"
)
READABLE = "ARRAY_CONTAINS(@readable, c.source)"
CONSENSUS = "(c.consensus_type = @consensus OR (@consensus = 'none' AND IS_NULL(c.consensus_type)))"


@dataclass(frozen=True)
class ListQuery:
    """The list of one container with its filters and sort columns (`-` for descending)."""

    name: str
    container: str
    filters: Mapping[str, str]
    sorts: tuple[str, ...]
    always: str = "true"
    fields: tuple[str, ...] = ()

    def page(self, chosen: AbstractSet[str], sort: str, after: ListPosition | None) -> NamedQuery:
        """Return the query for the first @limit rows after this position. The id makes the order total."""
        column, descending = f"c.{sort.lstrip('-')}", sort.startswith("-")
        conditions = [self.always, *(self.filters[name] for name in sorted(chosen))]
        if after is not None:
            conditions.append(_after(column, descending=descending, value=after[0]))
        direction = "DESC" if descending else "ASC"
        order = ", ".join(f"{name} {direction}" for name in dict.fromkeys((column, "c.id")))
        selected = ", ".join(f"c.{name}" for name in self.fields) or "*"
        text = (
            f"SELECT {selected} FROM c WHERE {' AND '.join(conditions)}"
            f" ORDER BY {order} OFFSET 0 LIMIT @limit"
        )
        return NamedQuery(self.name, self.container, text)


def _after(column: str, *, descending: bool, value: str | int | None) -> str:
    """Return the condition for the rows after a value. Cosmos DB sorts null first and never compares it."""
    than = "<" if descending else ">"
    if value is None:
        same = f"(IS_NULL({column}) AND c.id {than} @last)"
        return same if descending else f"({same} OR NOT IS_NULL({column}))"
    later = f"({column} {than} @value OR ({column} = @value AND c.id {than} @last)"
    return f"{later} OR IS_NULL({column}))" if descending else f"{later})"


NO_ENTRY = "NOT IS_DEFINED(c.kind)"  # for queries of threads that would also match entries

OPEN = "c.status IN ('pending', 'processing')"  # the app reads "processing", but never writes it
PROCESSED = "c.status = 'processed'"
UNREPORTED = f"(NOT IS_STRING(c.report_id) OR c.report_id != CONCAT('{REPORT_PREFIX}', c.summary_id))"
GIVEN_UP = "c.status = 'failed_max_retries'"

# The last attempt failed, has no known outcome, or does not exist.
FAILED = "IS_STRING(c.lastError) AND NOT IS_STRING(c.requeued_at)"
SILENT = "(NOT IS_STRING(c.lastError) OR IS_STRING(c.requeued_at))"
NEVER = "(NOT IS_DEFINED(c.lastAttemptTime) OR IS_NULL(c.lastAttemptTime))"
STUCK = f"c.lastAttemptTime <= @old OR ({NEVER} AND c.created_at <= @old) OR c.requeued_at <= @old"

# Documents with a single archive may have no archive_ids.
OF_ARCHIVE = "(c.archive_id = @archive OR ARRAY_CONTAINS(c.archive_ids, @archive))"
ABOUT_THREAD = "(c.scope = @thread OR ARRAY_CONTAINS(c.thread_ids, @thread))"
