"""What happened, in order: kept as it is, and put into words only where somebody wants to read them."""


class Trace:
    def __init__(self) -> None:
        self._entries: list[tuple[object, ...]] = []

    def __call__(self, *entry: object) -> None:
        """The time, and what happened then."""
        self._entries.append(entry)

    def lines(self) -> list[str]:
        return [
            f"{entry[0]:14.6f} " + " ".join(str(part) for part in entry[1:] if part != "")
            for entry in self._entries
        ]
