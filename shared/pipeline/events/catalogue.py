"""The published events and the stage that each one goes to, by the topology."""

from shared.core.errors import InvalidEventError
from shared.pipeline.event_types import EventData
from shared.pipeline.topology import PRODUCERS, STAGES

CATALOGUE: dict[str, type[EventData]] = {
    event.__name__: event for producer in PRODUCERS for event in (*producer.announces, producer.fails_as)
}

STAGE_OF: dict[str, str] = {stage.consumes.__name__: stage.name for stage in STAGES}
_INTERNAL = {event.__name__: event for stage in STAGES for event in stage.internal}
_KNOWN = {**CATALOGUE, **_INTERNAL}


def event_class(event_type: str) -> type[EventData]:
    try:
        return _KNOWN[event_type]
    except KeyError:
        raise InvalidEventError(f"event_type: {event_type!r} is not in the catalogue") from None
