"""Values of documents: validation against their fields, and normalization."""

import math
import re
from array import array
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localcloud.search.errors import DocumentError, SearchError, bad_request, shown
from localcloud.search.fields import Field
from localcloud.search.schema import Schema

_KEY = re.compile(r"[A-Za-z0-9_\-=]{1,1024}")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,12})?)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_STORED_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999
_RANGES = {"Edm.Int32": 2**31, "Edm.Int64": 2**63}
_SPECIAL_DOUBLES = {"INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
MAX_TERM_BYTES = 32766


@lru_cache(maxsize=16_384)  # a date is parsed on arrival and again for its column
def instant(text: str) -> int | None:
    """Return the milliseconds since 1970 of a date with an offset, or None for other texts."""
    if not _INSTANT.fullmatch(text):
        return None
    try:
        since = datetime.fromisoformat(text) - _EPOCH
    except ValueError:
        return None
    milliseconds = since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000
    return milliseconds if _EARLIEST <= milliseconds <= _LATEST else None


def instant_text(milliseconds: int) -> str:
    text = (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")
    text = text.removesuffix("+00:00").rstrip("0").rstrip(".") if milliseconds % 1000 else text[:19]
    return f"{text}Z"


def key_problem(key: Any) -> str | None:
    """Return an error message for an invalid document key."""
    if not isinstance(key, str) or not key:
        return "Document key cannot be missing or empty."
    if key.startswith("_"):
        return f"Invalid document key: '{key:.100}'. Keys cannot start with a leading underscore."
    if not _KEY.fullmatch(key):
        return (
            f"Invalid document key: '{key:.100}'. Keys can only contain letters, digits, underscore (_), "
            "dash (-), or equal sign (=), and at most 1024 characters. If the keys in your source data "
            "contain other characters, we recommend encoding them with a URL-safe version of Base64."
        )
    return None


def normalise_document(schema: Schema, document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with normalized values. Reject unknown properties."""
    result = {}
    for name, item in document.items():
        field = schema.by_name.get(name)
        if field is None:
            if name.startswith("@"):  # an annotation, such as @search.score of a returned document
                continue
            raise bad_request(
                f"The property '{name:.200}' does not exist on type 'search.documentFields'. "
                "Make sure to only use property names that are defined by the type."
            )
        result[name] = _value(field, item)
    return result


def _value(field: Field, value: Any) -> Any:
    if not field.collection:
        return None if value is None else _READ[field.type](field, value)
    if value is None:
        return None if field.is_vector else []
    if not isinstance(value, list):
        raise _mismatch(field, value, "an array")
    if field.is_vector:
        return _vector(field, value)
    if any(item is None for item in value):
        raise bad_request(f"The collection '{field.name}' cannot contain a null.")
    read = _READ[field.type]
    return [read(field, item) for item in value]


def project(document: dict[str, Any], schema: Schema, select: list[str]) -> dict[str, Any]:
    """Return the selected fields of a document (by default all), with empty values for missing fields."""
    return {
        field.name: _shown(document.get(field.name), field)
        for field in schema.fields
        if field.retrievable and (not select or field.name in select)
    }


def _shown(value: Any, field: Field) -> Any:
    return [] if value is None and field.collection and not field.is_vector else value


def _string(field: Field, value: Any) -> str:
    if not isinstance(value, str):
        raise _mismatch(field, value, "a string")
    if len(value) > MAX_TERM_BYTES // 4 and field.in_columns and len(value.encode()) > MAX_TERM_BYTES:
        raise DocumentError(
            f"Field '{field.name}' contains a term that is too large to process. The max length for UTF-8 "
            f"encoded terms is {MAX_TERM_BYTES} bytes. The most likely cause of this error is that "
            "filtering, sorting, or faceting are enabled on this field."
        )
    return value


def _boolean(field: Field, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _mismatch(field, value, "true or false")
    return value


def _date(field: Field, value: Any) -> str:
    milliseconds = instant(value) if isinstance(value, str) else None
    if milliseconds is None:
        raise _mismatch(field, value, "a date with an offset, such as 2024-01-31T08:30:00Z")
    return value if _STORED_FORM.fullmatch(value) else instant_text(milliseconds)


def _number(field: Field, value: Any) -> int | float | str:
    if field.type == "Edm.Double":
        if isinstance(value, str) and value in _SPECIAL_DOUBLES:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _mismatch(field, value, "a number")
        return float(value)
    limit = _RANGES[field.type]
    if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
        raise _mismatch(field, value, "a whole number in its range")
    return value


def _mismatch(field: Field, value: Any, expected: str) -> SearchError:
    return bad_request(
        f"Cannot convert the value {shown(value)} of field '{field.name}' to the expected type "
        f"'{field.type}': {expected} is needed."
    )


def double(value: float | str) -> float:
    return _SPECIAL_DOUBLES[value] if isinstance(value, str) else value


def _vector(field: Field, value: list[Any]) -> NDArray[np.float32]:
    try:
        vector = np.frombuffer(array("f", value), np.float32)
    except TypeError:
        raise _mismatch(field, value, "an array of numbers") from None
    # An array converts true to 1 and false to 0. Types are checked only if there are such values, because the
    # check is slow.
    if ((vector == 0) | (vector == 1)).any() and bool in map(type, value):
        raise _mismatch(field, value, "an array of numbers")
    if not np.isfinite(vector).all():
        raise _mismatch(field, value, "an array of finite numbers in single precision")
    return vector


def check_vector(field: Field, vector: NDArray[np.float32]) -> None:
    """Raise DocumentError for a wrong length, which fails only this document."""
    if len(vector) != field.dimensions:
        raise DocumentError(
            f"There's a mismatch in vector dimensions. {wrong_length(field, len(vector))} Please ensure that "
            "the vector length matches the expected length of the vector field."
        )


def wrong_length(field: Field, length: int) -> str:
    return (
        f"The vector field '{field.name}', with dimension of '{field.dimensions}', expects a length of "
        f"'{field.dimensions}'. However, the provided vector has a length of '{length}'."
    )


_READ: dict[str, Callable[[Field, Any], Any]] = {
    "Edm.String": _string,
    "Edm.Boolean": _boolean,
    "Edm.DateTimeOffset": _date,
    "Edm.Double": _number,
    "Edm.Int32": _number,
    "Edm.Int64": _number,
}
