"""Queries as values: named ones, lists that readers page through, and the conditions that several share."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from shared.core.ids import REPORT_PREFIX


class Partitions(StrEnum):
    """How many partitions a query reads. Its cost grows with them."""

    ONE = "one"  # the caller names the partition
    ALL = "all"


@dataclass(frozen=True)
class NamedQuery:
    """A parameterized query over one container. Its values are parameters, and never part of the text.

    The name is the one in metrics (`query.<name>`), so no two texts share one.
    """

    name: str
    container: str
    text: str
    partitions: Partitions = Partitions.ALL


@dataclass(frozen=True)
class ContainerQueries:
    """Makes the queries of one container. Each call says how many partitions the query reads."""

    container: str

    def one(self, name: str, text: str) -> NamedQuery:
        return NamedQuery(name, self.container, text, Partitions.ONE)

    def all(self, name: str, text: str) -> NamedQuery:
        return NamedQuery(name, self.container, text)


ListPosition = tuple[str | int | None, str]
"""The last row of a page: its value in the sorted column, and its id."""

PARTICIPANT = "EXISTS(SELECT VALUE p FROM p IN c.participants WHERE STRINGEQUALS(p.name, @participant, true))"
# By itself, since an index finds it; names are compared one by one, because they are written in many ways.
ADDRESS = "EXISTS(SELECT VALUE p FROM p IN c.participants WHERE p.email = @address)"
# As the lists show it: a thread without a stated outcome is one in which no decision was seen.
OUTCOME = (
    "((c.outcome.kind = @outcome AND c.outcome.tier = 'said')"
    " OR (@outcome = 'unresolved' AND c.outcome.tier = 'remark'))"
)
READABLE = "ARRAY_CONTAINS(@readable, c.source)"
CONSENSUS = "(c.consensus_type = @consensus OR (@consensus = 'none' AND IS_NULL(c.consensus_type)))"


@dataclass(frozen=True)
class ListQuery:
    """One container's list: what it can be filtered by, and sorted by (`-` for the largest first)."""

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
    """Cosmos DB compares no value with null, and sorts null before all of them."""
    than = "<" if descending else ">"
    if value is None:
        same = f"(IS_NULL({column}) AND c.id {than} @last)"
        return same if descending else f"({same} OR NOT IS_NULL({column}))"
    later = f"({column} {than} @value OR ({column} = @value AND c.id {than} @last)"
    return f"{later} OR IS_NULL({column}))" if descending else f"{later})"


NO_ENTRY = "NOT IS_DEFINED(c.kind)"  # where a query of threads asks for no field that an entry has not

OPEN = "c.status IN ('pending', 'processing')"  # we never write "processing", yet read it
PROCESSED = "c.status = 'processed'"
UNREPORTED = f"(NOT IS_STRING(c.report_id) OR c.report_id != CONCAT('{REPORT_PREFIX}', c.summary_id))"
GIVEN_UP = "c.status = 'failed_max_retries'"

# Of the last attempt: it is known to have failed, nothing was heard of it, or there was none.
FAILED = "IS_STRING(c.lastError) AND NOT IS_STRING(c.requeued_at)"
SILENT = "(NOT IS_STRING(c.lastError) OR IS_STRING(c.requeued_at))"
NEVER = "(NOT IS_DEFINED(c.lastAttemptTime) OR IS_NULL(c.lastAttemptTime))"
STUCK = f"c.lastAttemptTime <= @old OR ({NEVER} AND c.created_at <= @old) OR c.requeued_at <= @old"

# Documents of before an archive could be one of several have no archive_ids.
OF_ARCHIVE = "(c.archive_id = @archive OR ARRAY_CONTAINS(c.archive_ids, @archive))"
ABOUT_THREAD = "(c.scope = @thread OR ARRAY_CONTAINS(c.thread_ids, @thread))"
