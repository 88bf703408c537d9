"""What survived, and the share killed of each module."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.mutants.campaign import Outcome
from tools.mutants.targets import FLOOR_PERCENT, Target

__all__ = ["percent_killed", "table", "without_equivalents", "write_survivors"]

_EQUIVALENT = Path(__file__).with_name("equivalent.toml")


def _shown(outcome: Outcome) -> tuple[str, str]:
    removed = "\n".join(line[1:].strip() for line in outcome.mutant.diff if line.startswith("-"))
    added = "\n".join(line[1:].strip() for line in outcome.mutant.diff if line.startswith("+"))
    return removed, added


def without_equivalents(
    outcomes: Mapping[Target, Sequence[Outcome]],
) -> tuple[dict[Target, list[Outcome]], int, list[str]]:
    """The outcomes that count, how many were left out, and the entries of the list that fit no survivor."""
    entries = tomllib.loads(_EQUIVALENT.read_text()).get("mutant", [])
    listed = {(entry["path"], entry["before"], entry["after"]) for entry in entries}
    used = set()
    counted: dict[Target, list[Outcome]] = {}
    for target, tried in outcomes.items():
        counted[target] = []
        for outcome in tried:
            key = (target.path, *_shown(outcome))
            if not outcome.killed and key in listed:
                used.add(key)
            else:
                counted[target].append(outcome)
    paths = {target.path for target in outcomes}
    stale = [f"{path}: {before}" for path, before, _ in sorted(listed - used) if path in paths]
    return counted, len(used), stale


def write_survivors(outcomes: Mapping[Target, Sequence[Outcome]]) -> None:
    for target, tried in outcomes.items():
        for outcome in tried:
            if not outcome.killed:
                name = f"  {outcome.mutant.name}: MUST NOT SURVIVE" if outcome.mutant.name else ""
                print(f"\n{target.path}:{outcome.mutant.line}{name}")  # noqa: T201
                print("\n".join(f"    {line}" for line in outcome.mutant.diff))  # noqa: T201


def percent_killed(outcomes: Sequence[Outcome]) -> float:
    return 100 * sum(outcome.killed for outcome in outcomes) / len(outcomes) if outcomes else 100.0


def table(outcomes: Mapping[Target, Sequence[Outcome]]) -> str:
    rows = [(target.path, tried) for target, tried in outcomes.items()]
    rows.append(("all", [outcome for _, tried in rows for outcome in tried]))
    lines = ["| module | mutants | killed | % |", "|---|---:|---:|---:|"]
    lines += [
        f"| `{path}` | {len(tried)} | {sum(o.killed for o in tried)} | {percent_killed(tried):.1f} |"
        for path, tried in rows
    ]
    return "\n".join([*lines, "", f"The floor is {FLOOR_PERCENT:g} % of all."])
