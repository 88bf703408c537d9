"""Updates docs/images and the report in README.md from a run on the samples, so that both are current.

    python -m tools.docs_pictures

It needs chromium, and the standard ports for the addresses in the pictures. The run uses its own folder and
does not change the data of other runs.
"""

import argparse
import asyncio
import io
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

from tests.browser.conftest import ARGUMENTS, chromium
from tests.support.services import ROOT
from tests.system.test_run import prepare
from tools.run_archives.report import show_archives

ADDRESS = "http://localhost:7071"  # with the standard port
IMAGES = ROOT / "docs" / "images"
README = ROOT / "README.md"
WIDTH = 110
README_LINES = 10
PICTURE_LINES = 12  # of the report, including its rule
FIRST_POSITION = "aside.summary ul.claims a[href*='#']"


def main() -> None:
    argparse.ArgumentParser(prog="python -m tools.docs_pictures", description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="docs-pictures-") as folder, started(Path(folder)) as start:
        printed = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
        if asyncio.run(show_archives(ADDRESS, ROOT / "samples", printed)):
            sys.exit(printed.export_text())
        colored = [*start, *printed.export_text(clear=False, styles=True).splitlines()]
        plain = printed.export_text().splitlines()
        (IMAGES / "run.svg").write_text(picture(colored), encoding="utf-8")
        README.write_text(
            with_report(README.read_text(encoding="utf-8"), report_lines(plain)), encoding="utf-8"
        )
        take_thread(re.findall(r"http://\S+/threads/\w+", "\n".join(plain))[-1])


@contextmanager
def started(root: Path) -> Iterator[list[str]]:
    """Start the local cloud with the app and without mail. Yield the printed lines."""
    prepare(root)
    command = [sys.executable, "-m", "localcloud", "up", "--root", str(root), "--port-offset", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603 - fixed
        try:
            lines = []
            for line in running.stdout or ():
                if line.startswith("Ctrl-C"):
                    break
                lines.append(line.rstrip())
            else:
                sys.exit("\n".join(lines) or 1)
            up = next(number for number, line in enumerate(lines) if line.endswith("is up."))
            yield lines[: up + 1]
        finally:
            running.send_signal(signal.SIGINT)
            running.communicate()


def rules(lines: list[str]) -> tuple[int, int]:
    """Return the line numbers of the two rules around the report."""
    first = next(
        (number for number, line in enumerate(lines) if line.startswith("Report: ") and "────" in line), 0
    )
    rest = [number for number, line in enumerate(lines) if "────" in line and number > first]
    if not first or len(rest) != 1:
        sys.exit("the output does not have the report between two rules")
    return first, rest[0]


def report_lines(lines: list[str]) -> list[str]:
    """Return the first lines of the report, without empty lines and margin."""
    first, last = rules(lines)
    title = lines[first].removeprefix("Report: ").rstrip("─ ")
    rest = [line for line in lines[first + 1 : last] if line.strip()]
    return [title, *(line.rstrip().removeprefix("  ") for line in rest)][:README_LINES]


def with_report(page: str, lines: list[str]) -> str:
    block = re.compile(r"(<!-- report -->\n```\n).*?(```\n<!-- /report -->)", re.DOTALL)
    text = "".join(f"{line}\n" for line in lines)
    changed, count = block.subn(lambda around: around[1] + text + around[2], page)
    if count != 1:
        sys.exit("README.md has no block for the report")
    return changed


def picture(lines: list[str]) -> str:
    """Return the output as SVG, with the start of the report and without fonts of another host."""
    first, last = rules(lines)
    shown = lines
    if last - first > PICTURE_LINES:
        shown = [*lines[: first + PICTURE_LINES], "     …", "", *lines[last + 1 :]]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
    for line in shown:
        console.print(Text.from_ansi(line), no_wrap=True, crop=True)
    svg = console.export_svg(title="make run", unique_id="make-run")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def take_thread(address: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
        page.goto(address)
        page.click(FIRST_POSITION)
        page.screenshot(path=IMAGES / "thread.png")
        browser.close()


if __name__ == "__main__":
    main()
