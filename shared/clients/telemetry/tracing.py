"""The spans of the pipeline, and how a trace travels with a message.

Spans come from OpenTelemetry's global tracer, which does nothing until an exporter is configured: a test puts
a reader there, the app Azure Monitor (`setup.py`). Attributes never hold bodies, addresses or secrets.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

from opentelemetry import baggage, context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

INSTRUMENTATION = "rough-consensus"
ARCHIVE = "pipeline.archive_id"
# Azure Monitor cuts an attribute at 8,192 characters: as many ids as surely fit.
MOST_IDS = 400
# The name under which other rooms know a span: they do not import the SDK.
PipelineSpan: TypeAlias = Span


@contextmanager
def span(
    name: str,
    *,
    parent: Context | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, str | int] | None = None,
) -> Iterator[Span]:
    """A span around some work. An error that goes through is told by its type: its text may hold mail."""
    with (
        _within(parent),
        trace.get_tracer(INSTRUMENTATION).start_as_current_span(
            name, kind=kind, record_exception=False, set_status_on_exception=False
        ) as started,
    ):
        started.set_attributes(dict(attributes or {}))
        archive = baggage.get_baggage(ARCHIVE)
        if isinstance(archive, str):
            started.set_attribute(ARCHIVE, archive)
        try:
            yield started
        except BaseException as error:
            started.set_attribute("pipeline.error_type", type(error).__name__)
            started.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def consumer_span(
    name: str, properties: Mapping[str, object], *, attributes: Mapping[str, str | int] | None = None
) -> AbstractContextManager[Span]:
    """A span around the handling of a message: it continues the trace that the message carries."""
    parent = propagate.extract({key: str(value) for key, value in properties.items()})
    return span(name, parent=parent, kind=SpanKind.CONSUMER, attributes=attributes)


def current_trace_id() -> str | None:
    active = trace.get_current_span().get_span_context()
    return trace.format_trace_id(active.trace_id) if active.is_valid else None


def set_ids(of: Span, name: str, ids: Sequence[str]) -> None:
    """One under `pipeline.<name>`; several, each once, under `pipeline.<name>s`."""
    each_once = list(dict.fromkeys(ids))
    if len(each_once) == 1:
        of.set_attribute(f"pipeline.{name}", each_once[0])
    elif each_once:
        of.set_attribute(f"pipeline.{name}s", " ".join(each_once[:MOST_IDS]))


@contextmanager
def tag_with_archive(archive_id: str) -> Iterator[None]:
    """What is published in here, and what follows from it, says which archive it goes back to."""
    trace.get_current_span().set_attribute(ARCHIVE, archive_id)
    with _within(baggage.set_baggage(ARCHIVE, archive_id)):
        yield


@contextmanager
def _within(parent: Context | None) -> Iterator[None]:
    """With the parent's span and all that it carries, or as it is."""
    if parent is None:
        yield
        return
    token = context.attach(parent)
    try:
        yield
    finally:
        context.detach(token)


def trace_properties() -> dict[str, str]:
    """The trace as a message's properties: `traceparent`, and where it began.

    The Functions host reads the parent of an invocation from `Diagnostic-Id`.
    """
    properties: dict[str, str] = {}
    propagate.inject(properties)
    if "traceparent" in properties:
        properties["Diagnostic-Id"] = properties["traceparent"]
    return properties
