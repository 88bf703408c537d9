"""SQL fragments that a Cosmos expression compiles to.

An expression has up to three SQL fragments: its type's rank (T), its scalar value (V) and its JSON text (J).
All are NULL if the value is undefined. For a document's path, all three read the stored JSON directly. An
expression index on (T, V) therefore serves equality, ranges, IN, prefixes and ORDER BY.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from localcloud.cosmos.errors import bad_request
from localcloud.cosmos.sql_values import BOOLEAN, RANKS

MAX_SQL_LENGTH = 2_000_000
_TYPE_CASES = " ".join(f"WHEN '{name}' THEN {number}" for name, number in RANKS.items())

Parameters = Mapping[str, Any]
Binder = Callable[[Parameters], Any]


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def type_of(json_type: str) -> str:
    return f"CASE {json_type} {_TYPE_CASES} END"


@dataclass(frozen=True)
class Value:
    t: str
    v: str
    j: str
    rank: int | None = None  # its only possible type, if known
    const: bool = False  # always defined, and the same for every document
    document: str = ""  # the JSON that contains it, at the path `steps`
    steps: str = "$"
    indexed: bool = False  # a path of the stored document, worth an index

    def __post_init__(self) -> None:
        if len(self.t) + len(self.v) + len(self.j) > MAX_SQL_LENGTH:
            raise bad_request("the query is too complex: simplify its expressions")

    def member(self, key: str | int) -> "Value":
        step = f"[{key}]" if isinstance(key, int) else f'."{key}"'
        document, steps = (self.document, self.steps) if self.document else (self.j, "$")
        return path(document, steps + step, indexed=self.indexed)


def path(document: str, steps: str, *, indexed: bool = False) -> Value:
    place = f"{document}, {literal(steps)}"
    return Value(
        type_of(f"json_type({place})"),
        f"json_extract({place})",
        f"({document} -> {literal(steps)})",
        document=document,
        steps=steps,
        indexed=indexed,
    )


def dynamic(j: str) -> Value:
    return Value(type_of(f"json_type({j}, '$')"), f"json_extract({j}, '$')", j)


def typed(type_rank: int, v: str, *, const: bool = False) -> Value:
    boolean = f"CASE {v} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    j = boolean if type_rank == BOOLEAN else f"c_quote({v})"
    return Value(f"iif({v} IS NULL, NULL, {type_rank})", v, j, type_rank, const)


NOTHING = Value("NULL", "NULL", "NULL", 0)


def balanced(parts: list[str], separator: str) -> str:
    """Combine the parts in a balanced tree, because SQLite limits the depth of an expression."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return f"({balanced(parts[:middle], separator)}{separator}{balanced(parts[middle:], separator)})"


def concatenate(parts: list[str]) -> str:
    """Concatenate the parts that are not NULL, in chunks within SQLite's limit of arguments."""
    empty = "''"
    while True:
        parts = [
            f"concat({', '.join(parts[at : at + 50] or [empty])})" for at in range(0, len(parts) or 1, 50)
        ]
        if len(parts) == 1:
            return parts[0]


@dataclass
class State:
    """State that a query and its subqueries share."""

    parameters: Parameters
    explicit: frozenset[str] = frozenset()  # paths that the indexing policy includes by name
    binders: list[Binder] = field(default_factory=list)
    indexes: set[tuple[str, str]] = field(default_factory=set)
    aliases: int = 0
    reusable: bool = True

    def bind(self, binder: Binder) -> str:
        self.binders.append(binder)
        return f":p{len(self.binders) - 1}"

    def alias(self) -> str:
        self.aliases += 1
        return f"j{self.aliases}"
