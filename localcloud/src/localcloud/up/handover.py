"""A start while another one runs on the same data: its archive goes to the one that runs."""

import asyncio
import time
from pathlib import Path

import aiohttp
from rich.console import Console

from localcloud.up.data_folder import ADDRESS, FolderInUseError
from localcloud.up.showing import show_archives

START_SECONDS = 120.0
POLL_SECONDS = 0.4
HTTP_OK = 200


def note_address(data: Path, address: str) -> None:
    """Say where this local cloud answers, for a later start that finds the folder in use."""
    (data / ADDRESS).write_text(address, encoding="utf-8")


def hand_over(in_use: FolderInUseError, archive: Path, console: Console) -> int:
    """Send the archive to the local cloud that runs, and follow it there; the exit code."""
    return asyncio.run(_hand_over(in_use, archive, console))


async def _hand_over(in_use: FolderInUseError, archive: Path, console: Console) -> int:
    address = await _running(in_use.data / ADDRESS)
    if address is None:
        console.print(f"error: {in_use}, which is not responding", style="red", markup=False)
        return 1
    console.print(f"Rough Consensus is already running at {address}/ (process {in_use.pid}).", markup=False)
    console.print("The archive is added to it.")
    return await show_archives(address, archive, console)


async def _running(noted: Path) -> str | None:
    """Where it answers, as soon as it does: it may be starting itself."""
    until = time.monotonic() + START_SECONDS
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        while time.monotonic() < until:
            address = await asyncio.to_thread(_noted, noted)
            if address and await _answers(session, address):
                return address
            await asyncio.sleep(POLL_SECONDS)
    return None


def _noted(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


async def _answers(session: aiohttp.ClientSession, address: str) -> bool:
    try:
        async with session.get(f"{address}/api/health/live") as answer:
            return answer.status == HTTP_OK
    except (aiohttp.ClientError, TimeoutError):
        return False
