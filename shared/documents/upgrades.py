"""Schema versions: upgrade steps are registered here, applied on read, and stored by a backfill.

A step takes a stored document of one version to the next. A document of a newer minor version than this code
knows is read as it is, and fields that it does not know are stored again as they were; a newer major version
is left to the app that wrote it (NewerVersionError, which is transient).
"""

from collections.abc import Callable
from typing import Any

from shared.core.errors import InvalidDocumentError, NewerVersionError

Stored = dict[str, Any]
Step = Callable[[Stored], Stored]
FIRST_VERSION = "1.0.0"


class Migrations:
    def __init__(self) -> None:
        self._steps: dict[tuple[str, str], tuple[str, Step]] = {}

    def step(self, container: str, *, start: str, end: str) -> Callable[[Step], Step]:
        """Register the step from one version to a later one."""
        if _parsed(end) <= _parsed(start):
            raise ValueError(f"{container}: a step goes forward, not from {start} to {end}")

        def register(step: Step) -> Step:
            if (container, start) in self._steps:
                raise ValueError(f"{container}: there is a step from {start} already")
            self._steps[container, start] = (end, step)
            return step

        return register

    def upgrade(self, container: str, stored: Stored, current: str) -> Stored:
        """The document at the current version; the same object when it is there already."""
        version = stored.get("schema_version", FIRST_VERSION)
        if version == current:
            return stored
        if _parsed(version) > _parsed(current):
            return self._newer(container, stored, version, current)
        return self._climb(container, stored, version, current)

    def _climb(self, container: str, stored: Stored, version: str, current: str) -> Stored:
        document = dict(stored)
        while version != current:
            if (container, version) not in self._steps:
                raise InvalidDocumentError(
                    f"{container}/{stored.get('id')}: no upgrade from schema version {version} to {current}"
                )
            version, step = self._steps[container, version]
            document = {**step(dict(document)), "schema_version": version}
        return document

    @staticmethod
    def _newer(container: str, stored: Stored, version: str, current: str) -> Stored:
        if _parsed(version)[0] > _parsed(current)[0]:
            raise NewerVersionError(
                f"{container}/{stored.get('id')}: schema version {version} is newer than this app's {current}"
            )
        return stored


def _parsed(version: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in version.split("."))
    except (AttributeError, ValueError):
        raise InvalidDocumentError(f"{version!r} is not a schema version") from None


migrations = Migrations()
"""The steps of this app; each stands beside the model that it serves."""
