"""The position where a page of a query ended, and the SQL condition that resumes the query there.

Rows have a total order: the ORDER BY columns, then the document's number, which its rid encodes. A position
has the columns of the last row, so that inserts and deletes before it do not matter. Only DISTINCT and GROUP
BY without such an order resume by row number.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from localcloud.cosmos.errors import bad_request

MAX_ROWS = 2**62
MAX_TOKEN_BYTES = 16 * 1024  # a token is an HTTP header, and clients reject longer ones


class Column(NamedTuple):
    """An SQL sort expression. SQLite sorts NULL (undefined) first, as Cosmos DB does."""

    sql: str
    descending: bool = False


class ResumeFilter(NamedTuple):
    """The position at which an SDK resumes ORDER BY in a range that it has no continuation for."""

    values: list[Any]
    rid: str | None
    exclude: bool  # whether the client already has the row with exactly these values (and this rid)

    @classmethod
    def parse(cls, value: Any) -> "ResumeFilter":
        values = value.get("value") if isinstance(value, dict) else None
        rid = value.get("rid") if isinstance(value, dict) else None
        if not isinstance(values, list) or not isinstance(rid, str | None):
            raise bad_request(
                'resumeFilter is {"value": [one value for each ORDER BY key], "rid", "exclude"}'
            )
        return cls(values, rid, exclude=bool(value.get("exclude")))


@dataclass(frozen=True)
class Position:
    bound: tuple[Any, ...] = ()  # the sort columns of the last row
    rows: int = 0  # returned rows with this bound, or all returned rows if there are no columns
    taken: int = 0  # counts towards TOP and LIMIT

    def encode(self) -> str:
        token = base64.b64encode(orjson.dumps([self.bound, self.rows, self.taken])).decode()
        if len(token) > MAX_TOKEN_BYTES:
            raise bad_request(
                "the page ends at an ORDER BY value that is too long for a continuation token: order by a "
                "shorter property, or ask for all results in one page"
            )
        return token

    @classmethod
    def decode(cls, token: str | None, columns: int) -> "Position":
        if not token:
            return cls()
        try:
            bound, rows, taken = orjson.loads(base64.b64decode(token, validate=True))
        except (binascii.Error, ValueError, TypeError):
            raise bad_request("the continuation token is malformed: pass it on as it was given") from None
        if not isinstance(bound, list) or not all(
            isinstance(part, str | int | float | None) for part in bound
        ):
            raise bad_request("the continuation token is malformed: pass it on as it was given")
        if len(bound) != columns:
            raise bad_request("the continuation token belongs to another query")
        numbers = [rows, taken, *(part for part in bound if isinstance(part, int))]
        in_range = all(isinstance(number, int) and -(2**63) <= number < 2**63 for number in numbers)
        if not in_range or not 0 <= rows < MAX_ROWS or not 0 <= taken < MAX_ROWS:
            raise bad_request("the continuation token is out of range")
        return cls(tuple(bound), rows, taken)


def at_or_after(
    columns: Sequence[Column], bound: Sequence[Any], name: str, *, inclusive: bool, at: int = 0
) -> str:
    """Return SQL for the rows after the bound, a prefix of the columns.

    With `inclusive`, rows at the bound match too. The values of the bound are the bindings name0, name1 and
    so on.
    """
    sql, descending = columns[at]
    is_null = bound[at] is None
    last = at == len(bound) - 1
    if is_null:
        beyond = "0" if descending else f"{sql} IS NOT NULL"
    else:
        beyond = f"{sql} {'<' if descending else '>'}{'=' if last and inclusive else ''} :{name}{at}"
        beyond += f" OR {sql} IS NULL" if descending else ""
    if last and (not inclusive or not is_null):
        return f"({beyond})"
    same = f"{sql} IS NULL" if is_null else f"{sql} = :{name}{at}"
    rest = "1" if last else at_or_after(columns, bound, name, inclusive=inclusive, at=at + 1)
    return f"({beyond} OR ({same} AND {rest}))"
