"""What happened, in order: a hash of it always, the lines only where somebody wants to read them."""

import hashlib


class Trace:
    def __init__(self, *, keep: bool = False) -> None:
        self._hash = hashlib.blake2b(digest_size=8)
        self._keep = keep
        self.lines: list[str] = []

    def __call__(self, at: float, *what: object) -> None:
        line = f"{at:14.6f} " + " ".join(str(part) for part in what if part != "")
        self._hash.update(line.encode())
        if self._keep:
            self.lines.append(line)

    def digest(self) -> str:
        return self._hash.hexdigest()
