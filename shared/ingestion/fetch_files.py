"""Fetch files from this machine (for development) or from an rsync daemon."""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from shared.azure.outbound import AddressPolicy, FetchError, SourceError
from shared.core.child_processes import ChildProcess, Command
from shared.ingestion.errors import ArchiveTooLargeError
from shared.ingestion.fetcher import IDLE_SECONDS, FetchContext, Fetched
from shared.ingestion.unpacked_streams import UnpackLimits
from shared.models.sources import Source
from shared.settings.app import Settings

MAX_LOCAL_FILES = 2000


async def fetch_local(source: Source, context: FetchContext) -> AsyncGenerator[Fetched, None]:
    """Yield the files that are new or changed since the cursor, by name. Links are not followed."""
    check_local_allowed(context.clients.settings)
    known = source.cursor.get("files", {}) if source.cursor.get("url") == source.url else {}
    seen = dict(known)
    for path in await asyncio.to_thread(_local_files, local_path(source.url)):
        status = await asyncio.to_thread(path.stat)
        version = [status.st_size, status.st_mtime_ns]
        if known.get(path.name) == version:
            continue
        with context.spool() as spool:
            await asyncio.to_thread(spool.copy, path)
            seen = {**seen, path.name: version}
            cursor = {"url": source.url, "files": seen}
            yield Fetched(spool.file(path.name), path.as_uri(), cursor)


def check_local_allowed(settings: Settings) -> None:
    if not settings.ALLOW_LOCAL_SOURCES:
        raise SourceError("local sources are for development; set ALLOW_LOCAL_SOURCES=true to allow them")


def local_path(url: str) -> Path:
    parts = urlsplit(url)
    if parts.scheme not in {"", "file"} or parts.netloc not in {"", "localhost"}:
        raise SourceError("a local source is a path, or a file:// address without a host")
    path = Path(unquote(parts.path) if parts.scheme else url)
    if not path.is_absolute():
        raise SourceError("a local source is an absolute path")
    return path


def _local_files(path: Path) -> list[Path]:
    if path.is_symlink() or not path.exists():
        raise SourceError(f"{path}: no such file or folder")
    if path.is_file():
        return [path]
    found = _plain_files(path.iterdir())
    if len(found) > MAX_LOCAL_FILES:
        raise SourceError(f"{path}: it has more than {MAX_LOCAL_FILES} files")
    return found


def _plain_files(paths: Iterable[Path]) -> list[Path]:
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


DEFAULT_PORT = 873
CONNECT_SECONDS = 30
LOOK_SECONDS = 0.5
SHOWN_ERROR = 500
SHOWN_NAMES = 10
MAX_FILES = 10_000
_OPTIONS = ["--recursive", "--times", "--prune-empty-dirs", "--no-links", "--no-devices", "--no-specials"]
_OPTIONS += ["--no-motd", "--info=skip1", f"--contimeout={CONNECT_SECONDS}"]
_OVER = b" is over max-size"
_HOST = r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])"
_MODULE = r"(?P<module>[A-Za-z0-9_][A-Za-z0-9_.-]{0,99})"
_PATH = r"(?P<path>(?:/[A-Za-z0-9_.@+=,~-]{0,100}){0,20})"
_URL = re.compile(rf"rsync://{_HOST}(?::(?P<port>[0-9]{{1,5}}))?/{_MODULE}{_PATH}")
_DOUBLE_COLON = re.compile(rf"{_HOST}::{_MODULE}{_PATH}")


@dataclass(frozen=True)
class RsyncAddress:
    host: str
    port: int
    path: str

    def at(self, address: str) -> str:
        shown = f"[{address}]" if ":" in address else address
        return f"rsync://{shown}:{self.port}/{self.path}"


def rsync_address(url: str, policy: AddressPolicy) -> RsyncAddress:
    """Parse `rsync://host[:port]/module/path` or `host::module/path`. No user and no option is accepted."""
    match = _URL.fullmatch(url) or _DOUBLE_COLON.fullmatch(url)
    if match is None or ".." in match["path"].split("/"):
        raise SourceError(
            "an rsync source is rsync://host/module/path or host::module/path, in plain letters"
        )
    port = int(match.groupdict().get("port") or DEFAULT_PORT)
    if not 0 < port <= 65535:  # noqa: PLR2004 - TCP's own range
        raise SourceError(f"{port} is not a port")
    host = match["host"].strip("[]")
    policy.check_literal(host)
    return RsyncAddress(host, port, match["module"] + match["path"])


async def _copy_all(program: str, address: RsyncAddress, target: Path, context: FetchContext) -> list[str]:
    """Copy the files. Return the names of the files that are too large."""
    (checked, *_) = await context.policy.resolved(address.host, address.port)
    largest = context.clients.settings.ARCHIVE_MAX_BYTES
    limits = [f"--max-size={largest}", f"--timeout={max(1, int(IDLE_SECONDS))}"]
    # A list of arguments needs no shell. The address follows `--`, so it cannot be an option.
    command = [program, *_OPTIONS, *limits, "--", address.at(checked), f"{target}/"]
    # The environment has none of the app's settings, because rsync would pass them to the programs that it
    # starts.
    environment = {"PATH": os.defpath, "LC_ALL": "C"}
    process = await ChildProcess.start(Command(command, environment), stdin=asyncio.subprocess.DEVNULL)
    skipped = asyncio.ensure_future(_skipped_names(process))
    try:
        await _watch(process, target, UnpackLimits.of(largest).total_bytes)
        if process.returncode:
            words = "\n".join(await process.last_words()).strip()
            raise FetchError(f"rsync ended with {process.returncode}: {words[-SHOWN_ERROR:]}")
    finally:
        await process.kill()
        await asyncio.wait({skipped})
    return await skipped


async def fetch_rsync(source: Source, context: FetchContext) -> AsyncGenerator[Fetched, None]:
    """Fetch every file of the source. Report files that are too large after all others are fetched."""
    program = shutil.which("rsync", path=context.secrets.get("PATH"))
    if program is None:
        raise SourceError("rsync is not installed here; use the source's https address, or install rsync")
    address = rsync_address(source.url, context.policy)
    target = context.folder / "rsync"
    target.mkdir(exist_ok=True)
    left_out = await context.retried(lambda: _copy_all(program, address, target, context), source)
    for path in await asyncio.to_thread(_plain_files, target.rglob("*")):
        with context.spool() as spool:
            await asyncio.to_thread(spool.copy, path)
            inside = path.relative_to(target).as_posix()
            yield Fetched(spool.file(path.name), f"{source.url.rstrip('/')}/{inside}", {})
    if left_out:
        names, most = ", ".join(left_out[:SHOWN_NAMES]), context.clients.settings.ARCHIVE_MAX_BYTES
        raise ArchiveTooLargeError(
            f"{names}: larger than {most} bytes, so not fetched; the other files were."
            " Raise ARCHIVE_MAX_BYTES, or name a part of the source"
        )


async def _watch(process: ChildProcess, target: Path, most: int) -> None:
    """Wait for the end of rsync. Raise ArchiveTooLargeError if it copies more than the limits allow."""
    waiting = asyncio.ensure_future(process.wait())
    while not (await asyncio.wait({waiting}, timeout=LOOK_SECONDS))[0]:
        await asyncio.to_thread(_check_size, target, most)
    await asyncio.to_thread(_check_size, target, most)


def _check_size(target: Path, most: int) -> None:
    total = count = 0
    for folder, _, names in os.walk(target):
        for name in names:
            count += 1
            try:
                total += (Path(folder) / name).lstat().st_size
            except FileNotFoundError:  # rsync has renamed the file after the folder was listed
                continue
    if total > most or count > MAX_FILES:
        raise ArchiveTooLargeError(
            f"the source has more than {most} bytes or {MAX_FILES} files; name a part of it"
        )


async def _skipped_names(process: ChildProcess) -> list[str]:
    """Return the names of the files that rsync skips for their size, up to MAX_FILES."""
    names: list[str] = []
    rest = b""
    while piece := await process.stdout.read(4096):
        *lines, rest = (rest + piece).split(b"\n")
        names += [
            line.removesuffix(_OVER).decode("utf-8", "replace")
            for line in lines
            if line.endswith(_OVER) and len(names) < MAX_FILES
        ]
        rest = rest[-4096:]
    return names
