"""Access keys: created at the first start, stored in the data folder for the owner only, never logged."""

import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

OWNER_ONLY = 0o600


class AccessKeys:
    def __init__(self, path: Path, functions: Iterable[str]) -> None:
        """Read the keys, and create missing ones."""
        self.path = path
        known = self._read()
        self._master: str = known.get("masterKey") or _new_key()
        self._host: str = known.get("hostKey") or _new_key()
        former = known.get("functionKeys") or {}
        self._functions: dict[str, str] = {name: former.get(name) or _new_key() for name in functions}
        self._write({**former, **self._functions})

    def _read(self) -> dict[str, Any]:
        if not self.path.exists():
            return {}
        try:
            known = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{self.path} is not JSON ({error}): delete it to get new keys") from error
        if not isinstance(known, dict) or not isinstance(known.get("functionKeys", {}), dict):
            raise ValueError(f"{self.path} has no valid keys: delete it to get new ones")  # noqa: TRY004
        return known

    def _write(self, functions: dict[str, str]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        document = {"masterKey": self._master, "hostKey": self._host, "functionKeys": functions}
        fresh = self.path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2)
        fresh.replace(self.path)

    def allow(self, key: str | None, level: str, function: str = "") -> bool:
        """Return whether a key allows access to a function. Level admin requires the master key."""
        if level == "anonymous":
            return True
        if key is None:
            return False
        accepted = [self._master]
        if level != "admin":
            accepted += [self._host, self._functions.get(function, self._host)]
        return any(secrets.compare_digest(key.encode(), known.encode()) for known in accepted)


def _new_key() -> str:
    return secrets.token_urlsafe(40)
