"""What all stages have in common: one runner around each handler."""

from shared.stage.delivery import Delivery, RaiseToAbandon, Settlement
from shared.stage.isolation import Isolated, isolate_poison
from shared.stage.runner import Runtime, StageFailedError, StageRunner
from shared.stage.stage import Later, Outcome, Stage, Subject, Work

__all__ = [
    "Delivery",
    "Isolated",
    "Later",
    "Outcome",
    "RaiseToAbandon",
    "Runtime",
    "Settlement",
    "Stage",
    "StageFailedError",
    "StageRunner",
    "Subject",
    "Work",
    "isolate_poison",
]
