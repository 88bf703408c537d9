"""The inline constraints of ASP.NET route templates: `{id:int:min(1)}`."""

import re
from collections.abc import Callable
from datetime import datetime

Constraint = Callable[[str], bool]

_CALL = re.compile(r"(?P<name>[A-Za-z]+)(?:\((?P<arguments>.*)\))?", re.DOTALL)
_WHOLE = re.compile(r"[+-]?[0-9]{1,25}")
_NUMBER = re.compile(r"[+-]?(?:[0-9][0-9,]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_GUID = re.compile(
    r"[0-9a-f]{32}|\{H\}|\(H\)|H".replace("H", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), re.IGNORECASE
)
_DATE_FORMATS = ("%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%Y/%m/%d", "%d %b %Y", "%d %B %Y")


class TemplateError(ValueError):
    """The route template is malformed."""


def parse_constraint(text: str) -> Constraint:
    call = _CALL.fullmatch(text)
    if call is None:
        raise TemplateError(f"constraint {text!r} is malformed")
    name, arguments = call["name"].lower(), call["arguments"]
    if name == "regex":
        return _regex(text, arguments)
    if name in _PLAIN:
        if arguments is not None:
            raise TemplateError(f"constraint {text!r} takes no arguments")
        return _PLAIN[name]
    if name in _BOUNDED:
        return _BOUNDED[name](*_numbers(text, arguments, 1))
    if name == "length":
        low, *rest = _numbers(text, arguments, 1, 2)
        high = rest[0] if rest else low
        return lambda value: low <= len(value) <= high
    if name == "range":
        low, high = _numbers(text, arguments, 2)
        return lambda value: _is_long(value) and low <= int(value) <= high
    raise TemplateError(f"constraint {text!r} is unknown")


def _numbers(text: str, arguments: str | None, *counts: int) -> list[int]:
    parts = [part.strip() for part in (arguments or "").split(",")]
    if len(parts) not in counts or not all(_WHOLE.fullmatch(part) for part in parts):
        raise TemplateError(f"constraint {text!r} wants {' or '.join(map(str, counts))} whole number(s)")
    return [int(part) for part in parts]


def _regex(text: str, pattern: str | None) -> Constraint:
    try:
        compiled = re.compile(pattern or "", re.IGNORECASE)
    except re.error as error:
        raise TemplateError(f"constraint {text!r}: {error}") from error
    if not pattern:
        raise TemplateError(f"constraint {text!r} has no pattern")
    return lambda value: compiled.search(value) is not None


def _is_between(value: str, low: int, high: int) -> bool:
    return _WHOLE.fullmatch(value) is not None and low <= int(value) <= high


def _is_long(value: str) -> bool:
    return _is_between(value, -(2**63), 2**63 - 1)


def _is_floating(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None or value.lower() in {"nan", "infinity", "-infinity"}


def _is_datetime(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return any(_parses(value, date_format) for date_format in _DATE_FORMATS)
    return True


def _parses(value: str, date_format: str) -> bool:
    try:
        datetime.strptime(value, date_format)  # noqa: DTZ007 - only whether it is a date matters
    except ValueError:
        return False
    return True


_PLAIN: dict[str, Constraint] = {
    "alpha": lambda value: value.isascii() and (value.isalpha() or not value),
    "bool": lambda value: value.lower() in {"true", "false"},
    "datetime": _is_datetime,
    "decimal": lambda value: _NUMBER.fullmatch(value) is not None and "e" not in value.lower(),
    "double": _is_floating,
    "float": _is_floating,
    "guid": lambda value: _GUID.fullmatch(value) is not None,
    "int": lambda value: _is_between(value, -(2**31), 2**31 - 1),
    "long": _is_long,
    "required": bool,
}
_BOUNDED: dict[str, Callable[[int], Constraint]] = {
    "min": lambda low: lambda value: _is_long(value) and int(value) >= low,
    "max": lambda high: lambda value: _is_long(value) and int(value) <= high,
    "minlength": lambda low: lambda value: len(value) >= low,
    "maxlength": lambda high: lambda value: len(value) <= high,
}
