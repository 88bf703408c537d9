"""ASP.NET route templates: `orders/{id:int}/{*rest}`, parsed once, then matched against path segments."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from localcloud.functions.constraints import Constraint, TemplateError, parse_constraint


@dataclass(frozen=True)
class Parameter:
    name: str
    constraints: tuple[Constraint, ...] = field(default=(), compare=False)
    constraint_texts: tuple[str, ...] = ()
    optional: bool = False
    default: str | None = None
    catch_all: bool = False

    def accepts(self, value: str) -> bool:
        return all(constraint(value) for constraint in self.constraints)


Part = str | Parameter


@dataclass(frozen=True)
class Segment:
    """A literal, a parameter, or several parts in one (`{name}.{extension}`)."""

    parts: tuple[Part, ...]
    pattern: re.Pattern[str] | None = field(default=None, compare=False)

    @property
    def literal(self) -> str | None:
        return self.parts[0] if len(self.parts) == 1 and isinstance(self.parts[0], str) else None

    @property
    def parameter(self) -> Parameter | None:
        return self.parts[0] if len(self.parts) == 1 and isinstance(self.parts[0], Parameter) else None

    @property
    def parameters(self) -> list[Parameter]:
        return [part for part in self.parts if isinstance(part, Parameter)]

    @property
    def precedence(self) -> int:
        """ASP.NET's digit for a segment: the lower, the more specific."""
        parameter = self.parameter
        if self.literal is not None:
            return 1
        if parameter is None:
            return 2
        if parameter.catch_all:
            return 4 if parameter.constraints else 5
        return 2 if parameter.constraints else 3

    def match(self, value: str, values: dict[str, str]) -> bool:
        literal = self.literal
        if literal is not None:
            return literal.lower() == value.lower()
        if self.pattern is not None:
            return self._match_parts(value, values)
        parameter = self.parameters[0]
        if not value or not parameter.accepts(value):
            return False
        values[parameter.name] = value
        return True

    def _match_parts(self, value: str, values: dict[str, str]) -> bool:
        found = self.pattern.fullmatch(value) if self.pattern else None
        if found is None:
            return False
        for position, parameter in enumerate(self.parameters):
            text = found[position + 1]
            if text is None:
                continue
            if not parameter.accepts(text):
                return False
            values[parameter.name] = text
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
        """The parameters' values if the path matches, else None."""
        values: dict[str, str] = {}
        for index, segment in enumerate(self.segments):
            parameter = segment.parameter
            if parameter is not None and parameter.catch_all:
                return _match_rest(parameter, "/".join(path[index:]), values)
            if index < len(path):
                if not segment.match(path[index], values):
                    return None
            elif not _match_absent(segment, values):
                return None
        return values if len(path) <= len(self.segments) else None


def _match_rest(parameter: Parameter, rest: str, values: dict[str, str]) -> dict[str, str] | None:
    rest = rest or parameter.default or ""
    if rest and not parameter.accepts(rest):
        return None
    if rest:
        values[parameter.name] = rest
    return values


def _match_absent(segment: Segment, values: dict[str, str]) -> bool:
    parameter = segment.parameter
    if parameter is None or not (parameter.optional or parameter.default is not None):
        return False
    if parameter.default is not None:
        values[parameter.name] = parameter.default
    return True


def parse_template(text: str) -> Template:
    body = text.strip("/")
    segments = tuple(_parse_segment(part) for part in _split(body)) if body else ()
    _check(segments)
    return Template(text, segments)


def _check(segments: tuple[Segment, ...]) -> None:
    names: set[str] = set()
    for index, segment in enumerate(segments):
        for parameter in segment.parameters:
            if parameter.name.lower() in names:
                raise TemplateError(f"parameter {parameter.name!r} occurs twice")
            names.add(parameter.name.lower())
            if parameter.catch_all and (index < len(segments) - 1 or segment.parameter is None):
                raise TemplateError(f"catch-all parameter {parameter.name!r} is not the last segment")


def _split(text: str) -> Iterator[str]:
    """The segments: divided at each slash that is outside braces."""
    depth, start, index = 0, 0, 0
    while index < len(text):
        character = text[index]
        if text[index : index + 2] in {"{{", "}}"}:
            index += 2
            continue
        depth += (character == "{") - (character == "}")
        if depth not in {0, 1}:
            raise TemplateError(f"the braces in {text!r} do not match")
        if character == "/" and not depth:
            yield text[start:index]
            start = index + 1
        index += 1
    if depth:
        raise TemplateError(f"the braces in {text!r} do not match")
    yield text[start:]


def _parse_segment(text: str) -> Segment:
    if not text:
        raise TemplateError("two slashes stand side by side")
    parts = tuple(_parse_parts(text))
    if any(isinstance(part, str) and "?" in part for part in parts):
        raise TemplateError("a literal may not hold '?'")
    if len(parts) == 1:
        return Segment(parts)
    return Segment(parts, _pattern(text, parts))


def _parse_parts(text: str) -> Iterator[Part]:
    literal, index = "", 0
    while index < len(text):
        if text[index : index + 2] in {"{{", "}}"}:
            literal += text[index]
            index += 2
        elif text[index] == "{":
            if literal:
                yield literal
                literal = ""
            end = _closing_brace(text, index)
            yield _parse_parameter(text[index + 1 : end])
            index = end + 1
        else:
            literal += text[index]
            index += 1
    if literal:
        yield literal


def _closing_brace(text: str, start: int) -> int:
    index = start + 1
    while index < len(text):
        if text[index : index + 2] in {"{{", "}}"} and "(" in text[start:index]:
            index += 2  # an escaped brace inside regex(...)
        elif text[index] == "}":
            return index
        else:
            index += 1
    raise TemplateError(f"the braces in {text!r} do not match")


def _pattern(text: str, parts: tuple[Part, ...]) -> re.Pattern[str]:
    pattern = ""
    for index, part in enumerate(parts):
        if isinstance(part, str):
            pattern += re.escape(part)
            continue
        if index and isinstance(parts[index - 1], Parameter):
            raise TemplateError(f"{text!r}: two parameters need a literal between them")
        if not part.optional:
            pattern += "(.+)"
        elif index == len(parts) - 1 and pattern.endswith(r"\."):
            pattern = pattern.removesuffix(r"\.") + r"(?:\.([^.]+))?"
        else:
            raise TemplateError(f"{text!r}: an optional part is the last one and follows a dot")
    return re.compile(pattern, re.IGNORECASE)


_PARAMETER = re.compile(r"(?P<stars>\*{0,2})(?P<name>[^*{}/?:=]+)(?P<rest>.*)", re.DOTALL)


def _parse_parameter(text: str) -> Parameter:
    match = _PARAMETER.fullmatch(text)
    if match is None:
        raise TemplateError(f"parameter {{{text}}} is malformed")
    rest, optional, default = match["rest"], False, None
    texts: list[str] = []
    while rest.startswith(":"):
        constraint, rest = _take_constraint(rest[1:])
        texts.append(constraint.replace("{{", "{").replace("}}", "}"))
    if rest.startswith("="):
        default, rest = rest[1:], ""
    if rest == "?":
        optional, rest = True, ""
    if rest or (default is not None and default.endswith("?")):
        raise TemplateError(f"parameter {{{text}}} is malformed at {rest or '?'!r}")
    constraints = tuple(parse_constraint(constraint) for constraint in texts)
    return Parameter(
        match["name"].strip(), constraints, tuple(texts), optional, default, bool(match["stars"])
    )


def _take_constraint(text: str) -> tuple[str, str]:
    """The constraint at the start, with its parenthesised arguments, and what follows it."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth and character in ":=?":
            return text[:index], text[index:]
    return text, ""
