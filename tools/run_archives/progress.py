"""Progress through the stages: bars in a terminal, otherwise a line for each finished stage."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from tools.run_archives.client import App, Taken

POLL_SECONDS = 0.4


@dataclass(frozen=True)
class StageCount:
    name: str
    unit: str
    done: int
    total: int
    failed: int

    @property
    def is_through(self) -> bool:
        return self.total > 0 and self.done + self.failed >= self.total


@dataclass(frozen=True)
class Outcome:
    """The progress of all archives by stage, and permanent gaps."""

    complete: bool
    stages: list[StageCount]
    gaps: list[str]


async def follow(app: App, archives: Sequence[Taken], console: Console) -> Outcome:
    """Show the progress of the archives until all are reported or failed."""
    shown = _Bars(console) if console.is_terminal else _Lines(console)
    with shown.display:
        while not (outcome := await _ask(app, archives)).complete:
            shown.show(outcome)
            await asyncio.sleep(POLL_SECONDS)
        shown.show(outcome)
    return outcome


async def _ask(app: App, archives: Sequence[Taken]) -> Outcome:
    found = [(await app.get(f"/api/archives/{archive.archive_id}"))["progress"] for archive in archives]
    by_stage = zip(*(progress["stages"] for progress in found), strict=True)
    return Outcome(
        complete=all(progress["complete"] or progress["failed"] for progress in found),
        stages=[_summed(of_stage) for of_stage in by_stage],
        gaps=[
            f"{archive.name}: {gap}"
            for archive, progress in zip(archives, found, strict=True)
            for gap in progress["gaps"]
        ],
    )


def _summed(of_stage: Sequence[dict[str, object]]) -> StageCount:
    totals = {name: sum(int(str(count[name])) for count in of_stage) for name in ("done", "total", "failed")}
    return StageCount(str(of_stage[0]["name"]), str(of_stage[0]["unit"]), **totals)


class _Bars:
    def __init__(self, console: Console) -> None:
        columns = (TextColumn("  {task.description:<14}"), BarColumn(40), MofNCompleteColumn())
        self.display = Progress(*columns, TextColumn("{task.fields[unit]}"), console=console)
        self._tasks: dict[str, TaskID] = {}

    def show(self, outcome: Outcome) -> None:
        for stage in outcome.stages:
            if stage.name not in self._tasks:
                self._tasks[stage.name] = self.display.add_task(stage.name, total=None, unit="")
            self.display.update(
                self._tasks[stage.name],
                completed=stage.done + stage.failed,
                total=stage.total or None,
                unit=_units(stage),
            )


class _Lines:
    def __init__(self, console: Console) -> None:
        self.display = nullcontext()
        self._console = console
        self._through: set[str] = set()

    def show(self, outcome: Outcome) -> None:
        """Print finished stages.

        A stage has finished only after all previous stages, because more items can arrive.
        """
        for stage in outcome.stages:
            if not stage.is_through:
                return
            if stage.name not in self._through:
                self._through.add(stage.name)
                self._console.print(f"  {stage.name:<14} {stage.done} {_units(stage)}", highlight=False)


def _units(stage: StageCount) -> str:
    units = stage.unit if stage.total == 1 else f"{stage.unit}s"
    return f"{units}, {stage.failed} failed" if stage.failed else units
