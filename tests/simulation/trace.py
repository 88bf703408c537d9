"""A trace of events in order. Entries become text only when they are read."""


class Trace:
    def __init__(self) -> None:
        self._entries: list[tuple[object, ...]] = []

    def __call__(self, *entry: object) -> None:
        """Record an event with its time."""
        self._entries.append(entry)

    def lines(self) -> list[str]:
        return [
            f"{entry[0]:14.6f} " + " ".join(str(part) for part in entry[1:] if part != "")
            for entry in self._entries
        ]
