"""Takes mail through the whole pipeline on the emulators, and says what came of it: `make emulators-check`.

The app has to run, by `func start`. It is asked over HTTP, as a user asks it; the broker is asked for dead
letters, by `ops`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
APP = "http://localhost:7071"
PAUSE = 0.5
THREADS = 2
OK, PROBLEMS = 0, 3  # as `ops` ends
MAIL = """From {person}@example.org Mon Jan  5 09:0{number}:00 2026
From: {name} <{person}@example.org>
Date: Mon, 05 Jan 2026 09:0{number}:00 +0000
Subject: {subject}
Message-ID: <{number}.{run}@example.org>
{reply}
{text}

"""


class CheckFailedError(Exception):
    """One line: what was asked for, and what came."""


def mailbox(run: str) -> bytes:
    """Two threads of this run's own: what came before does not answer for them."""
    proposal, lunch = f"Require batching {run}", f"Where to meet {run}"
    mails = [
        ("ada", "Ada Example", proposal, None, "I propose that senders MUST batch their requests."),
        ("bo", "Bo Example", f"Re: {proposal}", 0, "I support this. It saved us half of our traffic."),
        ("cy", "Cy Example", lunch, None, "Shall we meet at the river on Tuesday?"),
    ]
    return "".join(
        MAIL.format(
            person=person, name=name, subject=subject, text=text, number=number, run=run,
            reply="" if parent is None else f"In-Reply-To: <{parent}.{run}@example.org>\n",
        )
        for number, (person, name, subject, parent, text) in enumerate(mails)
    ).encode()  # fmt: skip


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def ask(app: str, path: str, body: bytes | None = None, **query: str) -> Any:
    address = f"{app}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data=body), timeout=60) as answer:  # noqa: S310
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace")[:500]
        raise CheckFailedError(f"{address} answered {error.code}: {said}") from None
    except OSError as error:
        raise CheckFailedError(f"{address} does not answer ({error}): is the app up? `func start`") from None


def waited_for(what: str, look: Callable[[], Any], deadline: float) -> Any:
    """What it finds, as soon as there is any; what failed is asked again until the deadline."""
    why = "nothing came"
    while time.monotonic() < deadline:
        try:
            if found := look():
                say(f"  ok       {what}")
                return found
        except CheckFailedError as error:
            why = str(error)
        time.sleep(PAUSE)
    raise CheckFailedError(f"{what}: {why}; `python -m ops --settings local.settings.json status` says more")


def dead_letters(folder: Path) -> int:
    """Of all queues; every letter of a run that passed is another's."""
    ops = [sys.executable, "-m", "ops", "--settings", str(folder / "local.settings.json")]
    done = subprocess.run(
        [*ops, "dlq", "groups", "--json"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in (OK, PROBLEMS):
        raise CheckFailedError(f"dlq groups ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return sum(group["count"] for group in json.loads(done.stdout))


def thread_reports(app: str, source: str) -> list[Any] | None:
    """Both, or none."""
    found: list[Any] = ask(app, "/api/reports", source=source, type="thread")["items"]
    return found if len(found) == THREADS else None


def check(app: str, folder: Path, patience: float) -> None:
    deadline, run = time.monotonic() + patience, uuid.uuid4().hex[:8]
    source, before = f"check-{run}", dead_letters(folder)
    waited_for("the app is ready", lambda: ask(app, "/api/health"), deadline)
    archive = ask(app, "/api/archives", mailbox(run), source=source, filename="check.mbox")["archive_id"]
    say(f"  taken    archive {archive} of {source}: three mails in two threads")
    waited_for("both threads are reported", lambda: thread_reports(app, source), deadline)
    waited_for(
        "a search finds the proposal",
        lambda: ask(app, "/api/search", q="batch requests", source=source)["items"],
        deadline,
    )
    letters = dead_letters(folder) - before
    if letters:
        raise CheckFailedError(f"{letters} messages became dead letters: `python -m ops dlq groups`")
    say("  ok       no dead letters")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--app", default=APP, help="where the app answers (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT, help="where local.settings.json is")
    parser.add_argument("--patience", type=float, default=300, help="how many seconds it may take")
    given = parser.parse_args()
    if not (given.folder / "local.settings.json").exists():
        say("  missing  local.settings.json: run `make emulators` first")
        return 1
    try:
        check(given.app.rstrip("/"), given.folder, given.patience)
    except CheckFailedError as error:
        say(f"  failed   {error}")
        return 1
    say("Mail went through the whole pipeline on the emulators.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
