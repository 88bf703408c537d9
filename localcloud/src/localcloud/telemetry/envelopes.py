"""Envelopes of Application Insights' exporters: spans, log lines and metric values.

Only fields that queries use are parsed. An invalid envelope is rejected with its index in the request, as in
the real service, and the others are accepted.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from localcloud.timespan import parse_timespan

LEVELS = ("debug", "info", "warning", "error", "critical")
RESOURCE_METRIC = "_OTELRESOURCE_"  # describes the sender, and has no measurement
Json = dict[str, Any]
_GZIP = 16 + zlib.MAX_WBITS


class BodyError(ValueError):
    """The request cannot be read at all."""


class EnvelopeError(ValueError):
    """One envelope cannot be read."""


@dataclass(frozen=True)
class Span:
    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: str
    role: str
    start: float
    duration_ms: float
    success: bool
    result: str
    attributes: dict[str, str]


@dataclass(frozen=True)
class Log:
    time: float
    level: str
    message: str
    trace_id: str | None
    span_id: str | None
    exception: dict[str, str] | None
    attributes: dict[str, str]


@dataclass(frozen=True)
class Value:
    time: float
    name: str
    labels: dict[str, str]
    value: float
    count: int
    least: float
    most: float


@dataclass
class Received:
    total: int = 0
    spans: list[Span] = field(default_factory=list)
    logs: list[Log] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)  # the index of an envelope, and the reason


def unpack(body: bytes, encoding: str, *, limit: int) -> bytes:
    """Return the decompressed body. Raise BodyError if it exceeds the limit."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise BodyError(f"content-encoding {encoding!r}: send gzip, or an uncompressed body")
    try:
        reader = zlib.decompressobj(_GZIP)
        plain = reader.decompress(body, limit)
    except zlib.error as error:
        raise BodyError(f"the body is not gzip: {error}") from None
    if reader.unconsumed_tail or not reader.eof:
        raise BodyError(f"the body is cut off, or has more than {limit} bytes: send fewer envelopes at once")
    return plain


def read_envelopes(body: bytes) -> Received:
    """Parse the envelopes of a request: a JSON array, an object, or an object on each line."""
    received = Received()
    for index, envelope in enumerate(_envelopes(body)):
        received.total += 1
        try:
            _take(envelope, received)
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
            received.refused.append((index, f"{type(error).__name__}: {error}"))
    return received


def _envelopes(body: bytes) -> Iterable[Any]:
    try:
        text = body.decode()
        if text.lstrip()[:1] == "[":
            return list(json.loads(text))
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise BodyError(f"the body is neither a JSON array nor one envelope per line: {error}") from None


def _take(envelope: Json, received: Received) -> None:
    tags, base = envelope.get("tags") or {}, envelope["data"]["baseData"]
    time = _time(envelope["time"])
    match envelope["data"]["baseType"]:
        case "RequestData" | "RemoteDependencyData" as kind:
            received.spans.append(_span(time, tags, base, kind))
        case "MessageData":
            received.logs.append(_log(time, tags, base, _text(base.get("message")), None))
        case "ExceptionData":
            received.logs.append(_exception(time, tags, base))
        case "MetricData":
            received.values += [
                _value(time, base, point) for point in base["metrics"] if point["name"] != RESOURCE_METRIC
            ]
        case "EventData" | "AvailabilityData" | "PageViewData":
            pass  # accept and ignore envelopes of other senders
        case other:
            raise EnvelopeError(f"baseType {other!r} is unknown")


def _span(time: float, tags: Json, base: Json, kind: str) -> Span:
    request = kind == "RequestData"
    return Span(
        trace_id=_id(tags["ai.operation.id"]),
        span_id=_id(base["id"]),
        parent_id=_id(tags["ai.operation.parentId"]) if tags.get("ai.operation.parentId") else None,
        name=_text(base.get("name")),
        kind="request" if request else "dependency",
        role=_text(tags.get("ai.cloud.role")),
        start=time,
        duration_ms=parse_timespan(base["duration"]) * 1000,
        success=bool(base.get("success", True)),
        result=_text(base.get("responseCode" if request else "resultCode")),
        attributes=_texts(base.get("properties")),
    )


def _log(
    time: float, tags: Json, base: Json, message: str, exception: dict[str, str] | None, default: int = 1
) -> Log:
    severity = base.get("severityLevel")
    number = default if severity is None else int(severity)
    return Log(
        time=time,
        level=LEVELS[min(max(number, 0), len(LEVELS) - 1)],
        message=message,
        trace_id=_id_or_none(tags.get("ai.operation.id")),
        span_id=_id_or_none(tags.get("ai.operation.parentId")),
        exception=exception,
        attributes=_texts(base.get("properties")),
    )


def _exception(time: float, tags: Json, base: Json) -> Log:
    first = base["exceptions"][0]
    exception = {
        "type": _text(first.get("typeName")),
        "message": _text(first.get("message")),
        "stack": _text(first.get("stack")),
    }
    return _log(time, tags, base, exception["message"], exception, default=3)


def _value(time: float, base: Json, point: Json) -> Value:
    value = float(point["value"])
    least, most = point.get("min"), point.get("max")
    return Value(
        time=time,
        name=_text(point["name"]),
        labels=_texts(base.get("properties")),
        value=value,
        count=int(point.get("count") or 1),
        least=value if least is None else float(least),
        most=value if most is None else float(most),
    )


def _time(text: str) -> float:
    given = datetime.fromisoformat(text)
    return (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()


def _id(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise EnvelopeError(f"id {value!r} is not a string")
    return value


def _id_or_none(value: Any) -> str | None:
    """Return None for an id of zeros, which log lines outside of spans have."""
    return str(value) if value and str(value).strip("0") else None


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _texts(values: Any) -> dict[str, str]:
    return {str(name): _text(value) for name, value in (values or {}).items()}
