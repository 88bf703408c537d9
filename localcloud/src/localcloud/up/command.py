"""The user's command, which runs when all services are up, with their addresses in its environment."""

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from localcloud.up.child import is_healthy
from localcloud.up.data_folder import SETTINGS, FolderInUseError

START_SECONDS = 120.0
POLL_SECONDS = 0.4


async def run_command(command: Sequence[str], settings: Mapping[str, str]) -> int:
    """Run the command and return its exit code. Cancellation terminates the command."""
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **settings}, start_new_session=True
    )
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        raise


def note_settings(data: Path, settings: Mapping[str, str]) -> None:
    """Write the settings for a later start that finds the folder in use."""
    written = data / f"{SETTINGS}.new"
    written.write_text(json.dumps(dict(settings)), encoding="utf-8")
    written.replace(data / SETTINGS)


async def settings_of_running(in_use: FolderInUseError) -> dict[str, str] | None:
    """Return the settings of the local cloud that uses the folder, once its host responds."""
    until = time.monotonic() + START_SECONDS
    noted = in_use.data / SETTINGS
    while time.monotonic() < until:
        if noted.exists():
            settings: dict[str, str] = json.loads(noted.read_text(encoding="utf-8"))
            host = settings.get("FUNCTIONS_URL")
            if host is None or await is_healthy(f"{host}/admin/host/status"):
                return settings
        await asyncio.sleep(POLL_SECONDS)
    return None
