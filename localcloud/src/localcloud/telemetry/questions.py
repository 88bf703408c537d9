"""The query API: converts paths and parameters to store queries, and rows to responses."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

from localcloud.telemetry.envelopes import LEVELS
from localcloud.telemetry.store import Store

PREFIX = "/api/"
LIMIT = 200
MOST = 5_000
WINDOW_SECONDS = 300.0


class TelemetryQueryError(ValueError):
    """An invalid query. The message says what is wrong, where, and what to do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class _Parameters:
    """Query parameters. Each can be read once, and the caller reports the rest."""

    def __init__(self, query: str, now: float) -> None:
        self._given = dict(parse_qsl(query, keep_blank_values=True))
        self._now = now

    def text(self, name: str) -> str | None:
        return self._given.pop(name, None)

    def limit(self) -> int:
        return int(self._number("limit", LIMIT, least=1, most=MOST))

    def window(self) -> float:
        return self._number("window", WINDOW_SECONDS, least=1, most=7 * 86_400)

    def flag(self, name: str) -> bool | None:
        given = self.text(name)
        if given not in (None, "true", "false"):
            raise TelemetryQueryError(f"{name}={given}: give true or false")
        return None if given is None else given == "true"

    def level(self) -> int | None:
        given = self.text("level")
        if given is not None and given not in LEVELS:
            raise TelemetryQueryError(f"level={given}: give one of {', '.join(LEVELS)}")
        return None if given is None else LEVELS.index(given)

    def moment(self, name: str) -> float | None:
        """Return a time, given as a time or as seconds before now."""
        given = self.text(name)
        if given is None:
            return None
        try:
            return self._now - float(given)
        except ValueError:
            pass
        try:
            time = datetime.fromisoformat(given)
        except ValueError:
            raise TelemetryQueryError(
                f"{name}={given}: give an ISO 8601 time, or seconds before now"
            ) from None
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

    def attributes(self) -> dict[str, str]:
        """Return parameters with a dot in their name. Any other remaining parameter is an error."""
        found = {name: self._given.pop(name) for name in list(self._given) if "." in name}
        self.refuse_others("an attribute's whole name, such as pipeline.stage")
        return found

    def rest(self) -> dict[str, str]:
        rest, self._given = self._given, {}
        return rest

    def refuse_others(self, instead: str) -> None:
        if self._given:
            raise TelemetryQueryError(f"{min(self._given)}: unknown parameter. Use {instead}")

    def _number(self, name: str, default: float, *, least: float, most: float) -> float:
        given = self.text(name)
        try:
            number = default if given is None else float(given)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise TelemetryQueryError(f"{name}={given}: give a number from {least:g} to {most:g}")
        return number


def answer(store: Store, path: str, query: str, now: float) -> dict[str, Any]:
    """Answer a query. TelemetryQueryError describes an invalid query."""
    kind, _, rest = path.removeprefix(PREFIX).partition("/")
    handler = _HANDLERS.get((kind, bool(rest)))
    if handler is None:
        known = ", ".join(PREFIX + name + ("/..." if has_name else "") for name, has_name in _HANDLERS)
        raise TelemetryQueryError(f"{path}: unknown path. Use {known}", 404)
    return handler(store, unquote(rest), _Parameters(query, now), now)


def _trace(store: Store, trace_id: str, parameters: _Parameters, _now: float) -> dict[str, Any]:
    parameters.refuse_others("none")
    spans = store.trace(trace_id)
    if not spans:
        raise TelemetryQueryError(f"{trace_id}: this trace is unknown, or no longer stored", 404)
    known = {span["span_id"] for span in spans}
    unknown = sorted({span["parent_id"] for span in spans} - known - {None})
    logs = store.find("logs", {"trace_id": trace_id}, limit=MOST)
    return {
        "trace_id": trace_id,
        "spans": [_span(span) for span in spans],
        "logs": [_log(log) for log in reversed(logs)],
        "unknown_parents": unknown,
    }


def _spans(store: Store, _rest: str, parameters: _Parameters, _now: float) -> dict[str, Any]:
    found, more = _find_spans(store, parameters)
    return {"spans": [_span(span) for span in found], "more": more}


def _timeline(store: Store, _rest: str, parameters: _Parameters, _now: float) -> dict[str, Any]:
    found, more = _find_spans(store, parameters)
    traces = list(dict.fromkeys(span["trace_id"] for span in found))
    spans = [span for trace_id in traces for span in store.trace(trace_id)]
    logs = store.find("logs", {"trace_ids": traces}, limit=MOST)
    return {
        "spans": [_span(span) for span in sorted(spans, key=lambda span: float(span["start"]))],
        "logs": [_log(log) for log in reversed(logs)],
        "more": more,
    }


def _find_spans(store: Store, parameters: _Parameters) -> tuple[list[dict[str, Any]], bool]:
    limit = parameters.limit()
    options: dict[str, Any] = {
        "name": parameters.text("name"),
        "trace_id": parameters.text("trace_id"),
        "success": parameters.flag("success"),
        "since": parameters.moment("since"),
        "until": parameters.moment("until"),
    }
    found = store.find("spans", options, limit=limit + 1, attributes=parameters.attributes())
    return found[:limit], len(found) > limit


def _logs(store: Store, _rest: str, parameters: _Parameters, _now: float) -> dict[str, Any]:
    limit = parameters.limit()
    options: dict[str, Any] = {
        "level": parameters.level(),
        "trace_id": parameters.text("trace_id"),
        "exceptions": parameters.flag("exceptions"),
        "since": parameters.moment("since"),
        "until": parameters.moment("until"),
    }
    parameters.refuse_others("level, trace_id, exceptions, since, until or limit")
    found = store.find("logs", options, limit=limit + 1)
    return {"logs": [_log(log) for log in found[:limit]], "more": len(found) > limit}


def _metrics(store: Store, name: str, parameters: _Parameters, now: float) -> dict[str, Any]:
    start = now - parameters.window()
    found = store.series(name or None, parameters.rest(), start=start, now=now)
    return {"metrics": [series | {"last_time": _iso(series["last_time"])} for series in found]}


def _span(span: Mapping[str, Any]) -> dict[str, Any]:
    return {**span, "start": _iso(span["start"])}


def _log(log: Mapping[str, Any]) -> dict[str, Any]:
    return {**log, "time": _iso(log["time"])}


def _iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


_HANDLERS: dict[tuple[str, bool], Callable[[Store, str, _Parameters, float], dict[str, Any]]] = {
    ("traces", True): _trace,
    ("spans", False): _spans,
    ("timeline", False): _timeline,
    ("logs", False): _logs,
    ("metrics", False): _metrics,
    ("metrics", True): _metrics,
}
