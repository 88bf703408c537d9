"""Selects the function for a request: by path in ASP.NET's order of precedence, then by method."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from localcloud.functions.problems import Problems
from localcloud.functions.template import Segment, Template


@dataclass(frozen=True)
class Route:
    function: str
    template: Template
    methods: frozenset[str] | None  # None: all

    def takes(self, method: str) -> bool:
        return self.methods is None or method in self.methods


@dataclass(frozen=True)
class Match:
    function: str
    values: dict[str, str]


def split_path(raw_path: str) -> list[str]:
    """Return decoded segments. `%2F` stays encoded, as in ASP.NET, because it would split the segment."""
    segments = raw_path.strip("/").split("/") if raw_path.strip("/") else []
    if "%" not in raw_path:
        return segments
    return [unquote(segment.replace("%2F", "%252F").replace("%2f", "%252f")) for segment in segments]


class Router:
    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = sorted(routes, key=lambda route: (route.template.precedence, route.function.lower()))
        # A template without parameters precedes all others that match the same path.
        self._literal: dict[str, list[Route]] = {}
        for route in self.routes:
            if route.template.is_literal:
                path = "/".join(segment.literal or "" for segment in route.template.segments).lower()
                self._literal.setdefault(path, []).append(route)

    def find(self, method: str, raw_path: str) -> Match | None:
        path = raw_path[1:].lower()
        for route in self._literal.get(path) or self._literal.get(path.rstrip("/")) or ():
            if route.takes(method):
                return Match(route.function, {})
        return self._search(method, split_path(raw_path))

    def _search(self, method: str, path: Sequence[str]) -> Match | None:
        for route in self.routes:
            values = route.template.match(path)
            if values is not None and route.takes(method):
                return Match(route.function, values)
        return None


def warn_of_overlaps(routes: Iterable[Route], problems: Problems) -> None:
    """Warn of overlapping routes. The real host tries routes in the order of function names."""
    by_name = sorted(routes, key=lambda route: route.function.lower())
    for index, earlier in enumerate(by_name):
        for later in by_name[index + 1 :]:
            shadows = earlier.template.precedence >= later.template.precedence
            methods = earlier.methods is None or later.methods is None or earlier.methods & later.methods
            if shadows and methods and _overlap(earlier.template, later.template):
                problems.warn(
                    f"function {later.function}",
                    f"a request to {later.template.text!r} can match {earlier.template.text!r} of function "
                    f"{earlier.function} as well, and Azure tries routes in the order of function names",
                    "add a constraint to the parameter, or rename a function",
                )


def _overlap(template: Template, other: Template) -> bool:
    """Return whether both can match a path with as many segments as `other`."""
    for index, segment in enumerate(other.segments):
        if index >= len(template.segments):
            return False
        if template.segments[index].catch_all:
            return True
        if not _segments_overlap(template.segments[index], segment):
            return False
    return all(segment.catch_all or segment.optional for segment in template.segments[len(other.segments) :])


def _segments_overlap(segment: Segment, other: Segment) -> bool:
    literal, other_literal = segment.literal, other.literal
    if other_literal is not None:
        return segment.match(other_literal, {})
    if literal is not None:
        return other.match(literal, {})
    # Two different constraints are assumed to exclude each other.
    return segment.constraint is None or other.constraint is None or segment == other
