"""Session tokens: what a reader must have seen, merged over many writes.

Cosmos DB gives a token with every write, for the partition-key range that it went to, `range:version#lsn...`,
several of them joined by commas. A Session collects them per container, keeps the newest per range, travels
in events, and is passed on every read: so a stage always sees what the event that woke it announces.
"""

from collections.abc import Mapping


def merge_tokens(*tokens: str) -> str:
    """One token that demands all that the given ones do."""
    newest: dict[str, str] = {}
    for token in tokens:
        for part in filter(None, token.split(",")):
            range_id, _, position = part.strip().partition(":")
            if range_id not in newest or _progress(position) > _progress(newest[range_id]):
                newest[range_id] = position
    return ",".join(f"{range_id}:{position}" for range_id, position in sorted(newest.items()))


def _progress(position: str) -> tuple[int, int]:
    """`version#lsn[#region=lsn...]`, or a bare lsn, as numbers that compare."""
    version, _, rest = position.partition("#")
    lsn = rest.partition("#")[0]
    try:
        return (int(version), int(lsn)) if rest else (0, int(version))
    except ValueError:
        return (-2, -1)  # not a token that we know: any other one is newer


class Session:
    """The tokens of one piece of work, per container."""

    def __init__(self, tokens: Mapping[str, str] | None = None) -> None:
        self._tokens: dict[str, str] = {}
        self.turn: int | None = None
        """Of the threading lease, while it is held: writes of an earlier turn are refused (fence.py)."""
        for container, token in (tokens or {}).items():
            self.observe(container, token)

    def token(self, container: str) -> str | None:
        return self._tokens.get(container)

    def observe(self, container: str, token: str | None) -> None:
        """Remember what a response said."""
        if token:
            self._tokens[container] = merge_tokens(self._tokens.get(container, ""), token)

    def merge(self, other: "Session") -> None:
        for container, token in other.tokens().items():
            self.observe(container, token)

    def tokens(self) -> dict[str, str]:
        """For an event's envelope."""
        return dict(self._tokens)
