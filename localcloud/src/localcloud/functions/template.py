"""ASP.NET route templates: `orders/{id:int}/{*rest}`, parsed once and matched against path segments.

The module supports templates of whole segments. It rejects default values, several parts in a segment, and
constraints other than those in `_CONSTRAINTS`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Constraint = Callable[[str], bool]

MAX_INT = 2**31
_PARAMETER = re.compile(
    r"\{(?P<star>\*?)(?P<name>\w+)(?::(?P<constraint>\w+)(?:\((?P<argument>\d*)\))?)?(?P<optional>\??)\}"
)
_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")
# Factories by name, which take the constraint's argument.
_CONSTRAINTS: dict[str, Callable[[int], Constraint]] = {
    "int": lambda _: lambda value: bool(_WHOLE.fullmatch(value)) and -MAX_INT <= int(value) < MAX_INT,
    "minlength": lambda least: lambda value: len(value) >= least,
    "maxlength": lambda most: lambda value: len(value) <= most,
}


class TemplateError(ValueError):
    """The route template is malformed, or uses features that the dev host does not support."""


@dataclass(frozen=True)
class Segment:
    """A literal, or a parameter in braces."""

    text: str
    name: str = ""  # of the parameter, empty for a literal
    constraint: Constraint | None = field(default=None, compare=False)
    optional: bool = False
    catch_all: bool = False

    @property
    def literal(self) -> str | None:
        return None if self.name else self.text

    @property
    def precedence(self) -> int:
        """ASP.NET's digit for a segment. Lower is more specific."""
        if not self.name:
            return 1
        return (5 if self.catch_all else 3) - (self.constraint is not None)

    def match(self, value: str, values: dict[str, str]) -> bool:
        if not self.name:
            return self.text.lower() == value.lower()
        if not value or (self.constraint is not None and not self.constraint(value)):
            return False
        values[self.name] = value
        return True


@dataclass(frozen=True)
class Template:
    text: str
    segments: tuple[Segment, ...]

    @property
    def precedence(self) -> tuple[int, ...]:
        return tuple(segment.precedence for segment in self.segments)

    @property
    def is_literal(self) -> bool:
        return all(segment.literal is not None for segment in self.segments)

    def match(self, path: Sequence[str]) -> dict[str, str] | None:
        """Return the parameters' values if the path matches, else None."""
        values: dict[str, str] = {}
        for index, segment in enumerate(self.segments):
            if segment.catch_all:
                rest = "/".join(path[index:])
                return values if not rest or segment.match(rest, values) else None
            if index < len(path):
                if not segment.match(path[index], values):
                    return None
            elif not segment.optional:
                return None
        return values if len(path) <= len(self.segments) else None


def parse_template(text: str) -> Template:
    body = text.strip("/")
    segments = tuple(_parse_segment(part) for part in body.split("/")) if body else ()
    names = [segment.name.lower() for segment in segments if segment.name]
    if len(set(names)) < len(names):
        raise TemplateError(f"a parameter of {text!r} occurs twice")
    if any(segment.catch_all for segment in segments[:-1]):
        raise TemplateError(f"the catch-all parameter of {text!r} is not the last segment")
    return Template(text, segments)


def _parse_segment(text: str) -> Segment:
    if not text or "?" in text.partition("{")[0]:
        raise TemplateError("a segment is empty, or a literal contains '?'")
    if "{" not in text and "}" not in text:
        return Segment(text)
    parameter = _PARAMETER.fullmatch(text)
    if parameter is None:
        raise TemplateError(f"{text!r} is not {{name}}, {{name?}}, {{name:constraint}} or {{*name}}")
    constraint = _constraint(text, parameter["constraint"], parameter["argument"])
    return Segment(text, parameter["name"], constraint, bool(parameter["optional"]), bool(parameter["star"]))


def _constraint(text: str, name: str | None, argument: str | None) -> Constraint | None:
    if name is None:
        return None
    if name not in _CONSTRAINTS or (argument is None) != (name == "int") or argument == "":
        raise TemplateError(f"{text!r}: the dev host has int, minlength(n) and maxlength(n)")
    return _CONSTRAINTS[name](int(argument or 0))
