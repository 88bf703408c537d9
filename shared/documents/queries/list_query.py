"""Lists that readers filter, sort and page through: the text of each page's query."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from shared.documents.queries.named_query import ALL, NamedQuery

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
        """The first @limit rows after this position. The id makes the order total, so no row is lost."""
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
        return NamedQuery(self.name, self.container, text, ALL)


def _after(column: str, *, descending: bool, value: str | int | None) -> str:
    """Cosmos DB compares no value with null, and sorts null before all of them."""
    than = "<" if descending else ">"
    if value is None:
        same = f"(IS_NULL({column}) AND c.id {than} @last)"
        return same if descending else f"({same} OR NOT IS_NULL({column}))"
    later = f"({column} {than} @value OR ({column} = @value AND c.id {than} @last)"
    return f"{later} OR IS_NULL({column}))" if descending else f"{later})"
