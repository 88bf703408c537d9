"""Definition of the built-in functions of Cosmos SQL. An argument of the wrong type gives undefined."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from localcloud.cosmos.sql_values import UNDEFINED, decode, encode

MAX_RESULT = 2 * 1024 * 1024


@dataclass(frozen=True)
class Builtin:
    function: Callable[..., Any]
    minimum: int
    maximum: int
    # One letter for each argument: s string, n number, a array, o object, b boolean, * any defined value.
    types: str = ""
    deterministic: bool = True

    def __call__(self, *texts: Any) -> str | None:
        """Apply the function to JSON texts and return a JSON text."""
        values = [decode(text) for text in texts]
        types = self.types or "?" * len(values)
        if not all(_CHECKS[kind](value) for kind, value in zip(types, values, strict=False)):
            return None
        try:
            return encode(self.function(*values))
        except (ValueError, OverflowError, ZeroDivisionError):
            return None  # outside the function's domain, such as the root of -1


class Builtins(dict[str, Builtin]):
    def add(
        self,
        name: str,
        types: str,
        function: Callable[..., Any],
        *,
        optional: int = 0,
        deterministic: bool = True,
    ) -> None:
        self[name] = Builtin(function, len(types) - optional, len(types), types, deterministic)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "s": lambda value: isinstance(value, str),
    "n": is_number,
    "b": lambda value: isinstance(value, bool),
    "a": lambda value: isinstance(value, list),
    "o": lambda value: isinstance(value, dict),
    "*": lambda value: value is not UNDEFINED,
    "?": lambda _: True,
}


def bounded(size: float, make: Callable[[], Any]) -> Any:
    """Return the result, or undefined if it would exceed the maximum size of a document."""
    return make() if size <= MAX_RESULT else UNDEFINED
