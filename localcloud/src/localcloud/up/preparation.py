"""A command that runs before a service starts, and again only if its inputs have changed."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Preparation:
    """A repeatable command, its inputs, and the file that records its last success."""

    command: tuple[str, ...]
    stamp: Path
    root: Path
    files: tuple[str, ...] = ()  # patterns below the root: the code of the command
    folders: tuple[Path, ...] = ()  # of the services that it prepares: a new folder is empty
    variables: tuple[str, ...] = ()  # prefixes of the variables that it reads

    def is_done(self, settings: Mapping[str, str]) -> bool:
        return self.stamp.exists() and self.stamp.read_text(encoding="utf-8") == self._fingerprint(settings)

    def note_done(self, settings: Mapping[str, str]) -> None:
        self.stamp.write_text(self._fingerprint(settings), encoding="utf-8")

    def _fingerprint(self, settings: Mapping[str, str]) -> str:
        known = {**settings, **{name: value for name, value in os.environ.items() if self._reads(name)}}
        facts = [self.command, sorted(known.items()), list(self._states())]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def _reads(self, name: str) -> bool:
        return name.startswith(self.variables)

    def _states(self) -> Iterator[tuple[str, int, int]]:
        for pattern in self.files:
            for path in sorted(self.root.glob(pattern)):
                state = path.stat()
                yield str(path), state.st_mtime_ns, state.st_size
        for folder in self.folders:
            if folder.exists():
                yield str(folder), folder.stat().st_dev, folder.stat().st_ino
