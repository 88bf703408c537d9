"""Build the corpora of evaluation and benchmarks from their public sources: `make corpora`.

`corpora.json` names each file, its source at a pinned commit, and the SHA-256 of its content.
"""

import argparse
import email
import gzip
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parseaddr, parsedate_tz
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from evaluation.data import BUILT

TABLE = Path(__file__).with_name("corpora.json")
FILES = "https://raw.githubusercontent.com"
REPOSITORIES = "https://github.com"
SECONDS = 60
_FROM_LINE = re.compile(rb"^From ", re.MULTILINE)


class CorpusSourceError(RuntimeError):
    """A source does not answer, or its content differs from the committed checksum."""


@dataclass(frozen=True)
class Sources:
    files: str = FILES
    repositories: str = REPOSITORIES
    bc3: Path | None = None  # the archive that the page of BC3 offers


def build(folder: Path, sources: Sources, table: dict[str, Any]) -> Iterator[str]:
    """Write each missing or different file, and report the outcome of each file in one line."""
    for entry in table["files"]:
        yield _keep(folder, entry, partial(_download, f"{sources.files}/{entry['url']}"))
    for entry in table["months"]:
        yield _keep(folder, entry, partial(_month_of, f"{sources.repositories}/{entry['repository']}", entry))
    for entry in table["halves"]:
        if sources.bc3 is None:
            yield f"{entry['path']}: not built. Download BC3 from {entry['page']}, then use --bc3 FILE.zip"
        else:
            yield _keep(folder, entry, partial(_half_of, sources.bc3, entry, table["threads"]))


def _keep(folder: Path, entry: dict[str, Any], make: Callable[[], bytes]) -> str:
    path, wanted = folder / entry["path"], entry["sha256"]
    if path.is_file() and _digest(path.suffix, _content(path)) == wanted:
        return f"{entry['path']}: here already"
    content = make()
    if (found := _digest(path.suffix, content)) != wanted:
        raise CorpusSourceError(f"{entry['path']}: the source has SHA-256 {found}, not {wanted}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return f"{entry['path']}: {len(content):,} bytes"


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def _digest(suffix: str, content: bytes) -> str:
    """Return the digest of a file. XML counts by its threads, in any order and layout."""
    if suffix == ".xml":
        threads = sorted(
            ET.canonicalize(ET.tostring(thread), strip_text=True) for thread in _threads(content)
        )
        content = "\n".join(threads).encode()
    return hashlib.sha256(content).hexdigest()


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - from the committed table
            content: bytes = answer.read()
    except OSError as error:
        raise CorpusSourceError(f"{url} cannot be read ({error}). Is this machine online?") from error
    return content


def _month_of(url: str, entry: dict[str, Any]) -> bytes:
    """Return a month of a public-inbox repository, which has one message a commit, as an mbox by date."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:

        def git(*arguments: str, given: str | None = None) -> bytes:
            done = subprocess.run(  # noqa: S603 - the arguments are from the committed table
                ["git", "-C", folder, *arguments],  # noqa: S607 - from the PATH
                input=given and given.encode(),
                capture_output=True,
                check=False,
            )
            if done.returncode:
                words = done.stderr.decode(errors="replace").strip()
                raise CorpusSourceError(f"git {arguments[0]} of {url} failed: {words}")
            return bytes(done.stdout)

        git("init", "--bare", "--quiet")
        git("fetch", "--quiet", f"--depth={entry['commits']}", url, entry["last"])
        commits = git("log", "--reverse", "--format=%at %H", entry["last"]).decode().split("\n")[:-1]
        in_order = sorted(commits, key=lambda line: int(line.split()[0]))
        asked = "".join(f"{line.split()[1]}:m\n" for line in in_order)
        return b"".join(map(_in_mbox, _blobs(git("cat-file", "--batch", given=asked))))


def _blobs(answers: bytes) -> Iterator[bytes]:
    """Return the objects that `git cat-file --batch` prints. A commit that deletes a message has none."""
    position = 0
    while position < len(answers):
        end = answers.index(b"\n", position)
        head, position = answers[position:end], end + 1
        if not head.endswith(b" missing"):
            size = int(head.split()[-1])
            yield answers[position : position + size]
            position += size + 1


def _in_mbox(mail: bytes) -> bytes:
    headers = email.message_from_bytes(mail)
    date = parsedate_tz(str(headers["Date"])) or (1970, 1, 1, 0, 0, 0, 3, 1, 0, 0)
    sent = datetime(*date[:6]).strftime("%a %b %d %H:%M:%S %Y")  # noqa: DTZ001 - the sender's clock
    first = f"From {parseaddr(str(headers['From']))[1]} {sent}\n".encode()
    return first + _FROM_LINE.sub(b">From ", mail.rstrip(b"\n")) + b"\n\n"


def _half_of(archive: Path, entry: dict[str, Any], chosen: Sequence[str]) -> bytes:
    """Return the threads of the half that the authors of the reader's rules were allowed to see."""
    try:
        with zipfile.ZipFile(archive) as opened:
            name = next((n for n in opened.namelist() if Path(n).name == entry["member"]), None)
            whole = b"" if name is None else opened.read(name)
    except (OSError, zipfile.BadZipFile) as error:
        raise CorpusSourceError(f"{archive} is no zip archive that can be read: {error}") from error
    if not whole:
        raise CorpusSourceError(f"{archive} has no {entry['member']}: download it from {entry['page']}")
    root = ET.Element("root")
    root.extend(thread for thread in _threads(whole) if (thread.findtext("listno") or "") in chosen)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _threads(content: bytes) -> list[ET.Element]:
    return ET.fromstring(content).findall("thread")  # noqa: S314 - a corpus, not mail


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=BUILT, help="the folder (default: build/corpora)")
    parser.add_argument("--bc3", type=Path, help="the zip archive that the page of BC3 offers")
    options = parser.parse_args()
    try:
        for line in build(options.to, Sources(bc3=options.bc3), json.loads(TABLE.read_text("utf-8"))):
            print(line)
    except CorpusSourceError as error:
        sys.exit(str(error))
    print(f"The corpora are in {options.to}. evaluation/README.md says what cannot be built.")


if __name__ == "__main__":
    main()
