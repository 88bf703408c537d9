"""Run commands in this process, with the place's settings."""

import asyncio
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.cli import main
from tests.ops.environment import OpsPlace
from tests.support import kills


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.code in {0, 3}, self.err
        return json.loads(self.out)


def settings_values(place: OpsPlace) -> dict[str, str]:
    values = kills.settings_values(place.clients.settings)
    return values | {"SERVICEBUS_ADMIN_ENDPOINT": place.service.addresses["admin"]}


def settings_file(place: OpsPlace, folder: Path, **more: str) -> Path:
    return write_settings(folder, {**settings_values(place), **more})


def write_settings(folder: Path, values: dict[str, str]) -> Path:
    path = folder / "ops.settings.json"
    path.write_text(json.dumps({"IsEncrypted": False, "Values": values}))
    return path


def run_command(*arguments: str) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return Ended(code, out.getvalue(), err.getvalue())


class Commands:
    def __init__(self, place: OpsPlace, folder: Path, **more: str) -> None:
        self._settings = str(settings_file(place, folder, **more))

    async def __call__(self, *arguments: str) -> Ended:
        return await asyncio.to_thread(run_command, "--settings", self._settings, *arguments)
