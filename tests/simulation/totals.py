"""Totals of many runs, by scenario."""

from dataclasses import dataclass, field

from tests.simulation.runs import Outcome


@dataclass
class Sum:
    schedules: int = 0
    broken: int = 0
    seconds: float = 0.0
    faults: int = 0
    calls: int = 0
    virtual_seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        self.schedules += 1
        self.broken += bool(outcome.broken)
        self.seconds += outcome.seconds
        self.faults += sum(outcome.faults.values())
        self.calls += outcome.calls
        self.virtual_seconds += outcome.virtual_seconds

    def cells(self) -> str:
        each, seconds = max(self.schedules, 1), max(self.seconds, 0.001)
        return (
            f"{self.schedules} | {self.broken} | {self.schedules / seconds:.0f} | {self.faults / each:.1f}"
            f" | {self.calls / each:.0f} | {self.virtual_seconds / each / 60:.0f} |"
        )


@dataclass
class Totals:
    by_scenario: dict[str, Sum] = field(default_factory=dict)
    all: Sum = field(default_factory=Sum)

    def add(self, outcome: Outcome) -> None:
        self.by_scenario.setdefault(outcome.run.scenario, Sum()).add(outcome)
        self.all.add(outcome)

    @property
    def count(self) -> int:
        return self.all.schedules

    @property
    def failed(self) -> int:
        return self.all.broken

    def table(self) -> str:
        """Return the table for docs/reliability.md."""
        head = "| scenario | schedules | broken | a CPU second | faults | calls | virtual minutes |"
        rows = [f"| {name} | {self.by_scenario[name].cells()}" for name in sorted(self.by_scenario)]
        return "\n".join([head, "|---|---|---|---|---|---|---|", *rows, f"| all | {self.all.cells()}"])

    def line(self, commit: str, cpu_seconds: float) -> str:
        rate = self.count / max(self.all.seconds, 0.001)
        return (
            f"{self.count} schedules at {commit}, {self.failed} broken; {rate:.1f} a CPU second"
            f" ({cpu_seconds:.0f} s of this command, with its start)"
        )
