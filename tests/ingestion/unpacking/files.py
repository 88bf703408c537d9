"""Archives built in memory."""

import io
import tarfile
import zipfile
from pathlib import Path

MAIL = b"From: a@example.org\nTo: b@example.org\nDate: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: %s\n\nbody of %s\n"


def eml(name: str) -> bytes:
    return MAIL % (name.encode(), name.encode())


def mbox(*names: str) -> bytes:
    return b"".join(b"From a@example.org Thu Jan  1 00:00:00 2026\n" + eml(name) + b"\n" for name in names)


def tar_bytes(
    files: dict[str, bytes], mode: str = "w", *more: tarfile.TarInfo, format_: int = tarfile.PAX_FORMAT
) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode, format=format_) as archive:  # type: ignore[call-overload]
        for extra in more:
            archive.addfile(extra)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def zip_bytes(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def saved(folder: Path, content: bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path
