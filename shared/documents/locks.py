"""Locks: leases that workers hold."""

from shared.documents.base import Document


class Lock(Document):
    """Held by one worker at a time, until it is released or its time is over."""

    container = "locks"

    owner: str = ""
    expires: float = 0.0
    turn: int = 0  # the number of its last holder: higher than of any before
    session: dict[str, str] = {}  # what its last holder wrote: the next one has to see it
