"""Digests: one summary over many threads."""

from shared.documents.base import Document


class Digest(Document):
    """What is to be kept up to date about several threads: dirty while it was touched more than made."""

    container = "digests"

    scope: str
    touches: int = 0
    working: int = 0  # the touches that the refresh which is under way has seen
    made: int = 0  # the touches that the last one that ended had seen
    named: int = 0  # the touches that the refresh which named the summary had seen
    summary_id: str | None = None  # the current one
