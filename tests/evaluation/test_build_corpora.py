import gzip
import hashlib
import json
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evaluation.build_corpora import TABLE, CorpusSourceError, Sources, build
from evaluation.data import data_folder, why_skipped

OLDER, NEWER = (
    b"From: Ada <ada@example.org>\nDate: Fri, 8 Dec 2023 18:19:18 -0500\nSubject: One\n\nFrom here on.\n\n\n",
    b"From: bo@example.org\nDate: Sat, 9 Dec 2023 09:00:00 +0900\nSubject: Two\n\nYes.\n",
)
MBOX = (
    b"From ada@example.org Fri Dec 08 18:19:18 2023\n" + OLDER.replace(b"\nFrom here", b"\n>From here").rstrip()
    + b"\n\nFrom bo@example.org Sat Dec 09 09:00:00 2023\n" + NEWER + b"\n"
)  # fmt: skip
XML = "<root>{}</root>"
THREAD = "<thread><listno>{0}</listno><name>about {0}</name></thread>"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def table(**parts: Any) -> dict[str, Any]:
    return {"files": [], "months": [], "halves": [], "threads": ["007-1"], **parts}


def inbox(folder: Path) -> str:
    """Create a public-inbox repository: one message a commit, the newer first, and a commit that deletes."""
    folder.mkdir(parents=True)

    def git(*arguments: str, at: int = 0) -> str:
        time = f"{at} +0000"
        names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return subprocess.run(
            ["git", "-C", str(folder), "-c", "commit.gpgsign=false", *arguments],
            check=True, capture_output=True, text=True,
            env={"PATH": "/usr/bin:/bin", "GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time, **names},
        ).stdout.strip()  # fmt: skip

    git("init", "--quiet")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    for at, mail in ((1702040000, b"before the month"), (1702080000, NEWER), (1702077558, OLDER)):
        (folder / "m").write_bytes(mail)
        git("add", "m", at=at)
        git("commit", "--quiet", "-m", "mail", at=at)
    git("mv", "m", "d")
    git("commit", "--quiet", "-m", "delete", at=1702090000)
    return git("rev-parse", "HEAD")


def test_each_kind_of_source_gives_the_file_of_the_checksum_and_is_not_asked_twice(
    tmp_path: Path, served: tuple[Path, str]
) -> None:
    folder, address = served
    (folder / "one.json").write_bytes(b"[1]")
    last = inbox(tmp_path / "repositories" / "list")
    bc3 = tmp_path / "bc3.zip"
    with zipfile.ZipFile(bc3, "w") as archive:
        archive.writestr("bc3/corpus.xml", XML.format(THREAD.format("009-2") + THREAD.format("007-1")))
    wanted = table(
        files=[{"path": "a/one.json", "url": "one.json", "sha256": sha256(b"[1]")}],
        months=[{"path": "a/m.gz", "repository": "list", "last": last, "commits": 3, "sha256": sha256(MBOX)}],
        halves=[
            {"path": "a/half.xml", "member": "corpus.xml", "page": "the page", "sha256": sha256(THREAD.format("007-1").encode())}
        ],
    )  # fmt: skip
    sources = Sources(address, f"file://{tmp_path / 'repositories'}", bc3)
    said = list(build(tmp_path / "to", sources, wanted))
    assert [line.partition(":")[0] for line in said] == ["a/one.json", "a/m.gz", "a/half.xml"]
    assert (tmp_path / "to/a/one.json").read_bytes() == b"[1]"
    assert gzip.decompress((tmp_path / "to/a/m.gz").read_bytes()) == MBOX
    assert b"009-2" not in (tmp_path / "to/a/half.xml").read_bytes()
    nowhere = Sources("http://127.0.0.1:9", "file:///nowhere", tmp_path / "none.zip")
    again = list(build(tmp_path / "to", nowhere, wanted))
    assert [line.partition(": ")[2] for line in again] == ["here already"] * 3


@pytest.mark.parametrize(
    ("url", "says"), [("changed", "one.json: the source has SHA-256"), ("none", "cannot be read")]
)
def test_another_content_is_an_error_and_is_not_written(
    tmp_path: Path, served: tuple[Path, str], url: str, says: str
) -> None:
    folder, address = served
    (folder / "changed").write_bytes(b"[2]")
    wanted = table(files=[{"path": "one.json", "url": url, "sha256": sha256(b"[1]")}])
    with pytest.raises(CorpusSourceError, match=says):
        list(build(tmp_path / "to", Sources(address), wanted))
    assert not (tmp_path / "to").exists()


@pytest.mark.skipif(not (data_folder() / "mail").is_dir(), reason=why_skipped("mail/"))
def test_the_committed_checksums_are_those_of_the_corpora(tmp_path: Path, served: tuple[Path, str]) -> None:
    folder, address = served
    committed = json.loads(TABLE.read_text("utf-8"))
    for entry in committed["files"]:
        (folder / entry["url"]).parent.mkdir(parents=True, exist_ok=True)
        (folder / entry["url"]).write_bytes((data_folder() / entry["path"]).read_bytes())
    with zipfile.ZipFile(tmp_path / "bc3.zip", "w") as archive:
        for entry in committed["halves"]:
            archive.writestr(entry["member"], (data_folder() / entry["path"]).read_bytes())
    downloaded = committed | {"months": []}
    said = list(build(tmp_path / "to", Sources(address, bc3=tmp_path / "bc3.zip"), downloaded))
    assert len(said) == len(committed["files"]) + len(committed["halves"]) == 9
    here = [*build(data_folder(), Sources("http://127.0.0.1:9"), committed | {"halves": []})]
    assert [line.partition(": ")[2] for line in here] == ["here already"] * 9
