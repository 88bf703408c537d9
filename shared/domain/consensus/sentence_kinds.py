"""What a sentence may be to a summary."""

from enum import StrEnum


class Head(StrEnum):
    """One column of fitted weights each."""

    POINT = "point"
    DECISION = "decision"
    OBJECTION = "objection"
    OPEN_ISSUE = "open issue"
