"""The data folder of the local cloud: used by one supervisor at a time, and emptied on request."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = "settings.json"  # of the local cloud that uses the folder
MARKER = ".localcloud"


class DataFolderError(OSError):
    """The data folder cannot be used."""


class FolderInUseError(DataFolderError):
    """Another local cloud uses the folder."""

    def __init__(self, data: Path, pid: str) -> None:
        super().__init__(
            f"{data} is in use by process {pid}. Stop that local cloud or choose another --data folder"
        )
        self.data = data
        self.pid = pid


@contextmanager
def data_folder(path: Path, *, fresh: bool) -> Iterator[Path]:
    """Lock the folder for this process. `fresh` empties it first."""
    path.mkdir(parents=True, exist_ok=True)
    lock = path / "lock"
    with lock.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pid = lock.read_text(encoding="utf-8").strip() or "?"
            raise FolderInUseError(path, pid) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        if fresh:
            _wipe(path)
        (path / MARKER).touch()
        (path / SETTINGS).unlink(missing_ok=True)  # of an earlier start
        _keep_previous_logs(path / "logs")
        yield path


def _wipe(path: Path) -> None:
    """Empty the folder, but only if the local cloud created it: --data may be mistyped."""
    entries = [entry for entry in path.iterdir() if entry.name != "lock"]
    if entries and not (path / MARKER).exists():
        raise DataFolderError(f"{path} was not created by the local cloud, so --fresh does not delete it")
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _keep_previous_logs(logs: Path) -> None:
    """Keep the logs of the previous start."""
    if logs.exists():
        before = logs.with_name("logs.before")
        shutil.rmtree(before, ignore_errors=True)
        logs.rename(before)
