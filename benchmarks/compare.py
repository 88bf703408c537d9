"""Compares this work tree with an earlier one: alternating runs of a benchmark, and the median of ratios.

    python -m benchmarks.compare EARLIER parsing|parsing-cpu|pipeline|host [--pairs 7]

EARLIER is a work tree of an earlier version (git worktree add ../earlier TAG) with the same setup. A ratio
above 1 means that this version is slower. Each tree runs its own benchmark with its own code, so figures are
comparable as long as the benchmark prints them under the same name.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Figure:
    name: str
    pattern: str
    is_rate: bool
    """Higher is better for a rate, lower for a time."""


@dataclass(frozen=True)
class Benchmark:
    arguments: tuple[str, ...]
    figures: tuple[Figure, ...]
    is_shared: bool = False
    """Run this tree's file in both trees, each with its own code, because the earlier tree lacks the file."""
    project: str = "."
    """The folder of the benchmark's project."""


BENCHMARKS = {
    "parsing": Benchmark(
        ("benchmarks.parsing", "--turns", "2"),
        (
            Figure("the library alone, messages/s", r"the library alone +(\d+)", is_rate=True),
            Figure("one archive after the other, messages/s", r"after the other +(\d+)", is_rate=True),
            Figure("all archives at once, messages/s", r"at once +(\d+)", is_rate=True),
        ),
    ),
    "parsing-cpu": Benchmark(
        ("benchmarks/parsing_cpu.py",),
        (Figure("CPU of the stage, s", r"CPU of the stage: ([\d.]+) s", is_rate=False),),
        is_shared=True,
    ),
    "pipeline": Benchmark(
        ("benchmarks.pipeline", "--files", "numpy-discussion-2001-11.mbox"),
        (Figure("from upload to ready, s", r"from upload to ready: ([\d.]+) s", is_rate=False),),
    ),
    "host": Benchmark(
        ("benchmarks.host", "--rounds", "2"),
        (
            Figure("async function, requests/s", r"async function +([\d,]+)", is_rate=True),
            Figure("sync function, requests/s", r"\nsync function +([\d,]+)", is_rate=True),
        ),
        project="localcloud",
    ),
}


def measure(tree: Path, benchmark: Benchmark) -> list[float]:
    command, code = [sys.executable, "-m", *benchmark.arguments], {}
    if benchmark.is_shared:
        command = [sys.executable, *(str(HERE / name) for name in benchmark.arguments)]
        code = {"PYTHONPATH": str(tree.resolve()), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        command,
        cwd=tree / benchmark.project,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | code,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in {tree}:\n{done.stderr[-2000:]}")
    found = [re.search(figure.pattern, done.stdout) for figure in benchmark.figures]
    missing = [figure.name for figure, match in zip(benchmark.figures, found, strict=True) if match is None]
    if missing:
        sys.exit(f"{tree} printed no figure for {', '.join(missing)}:\n{done.stdout[-2000:]}")
    return [float(match[1].replace(",", "")) for match in found if match is not None]


def ratios(figure: Figure, before: list[float], after: list[float]) -> list[float]:
    pairs = zip(before, after, strict=True)
    return [old / new if figure.is_rate else new / old for old, new in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("earlier", type=Path)
    parser.add_argument("benchmark", choices=sorted(BENCHMARKS))
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    benchmark = BENCHMARKS[options.benchmark]
    before: list[list[float]] = []
    after: list[list[float]] = []
    for number in range(options.pairs):
        # Alternate the order, so that a machine that warms up or slows down favors neither.
        trees = [(options.earlier, before), (HERE, after)]
        for tree, figures in trees if number % 2 == 0 else trees[::-1]:
            figures.append(measure(tree, benchmark))
        print(f"pair {number + 1}: {before[-1]} {after[-1]}", flush=True)
    for position, figure in enumerate(benchmark.figures):
        old, new = [row[position] for row in before], [row[position] for row in after]
        found = sorted(ratios(figure, old, new))
        print(
            f"{figure.name}: {statistics.median(old):,.1f} before, {statistics.median(new):,.1f} now;"
            f" slower by {statistics.median(found):.3f}x (median of {len(found)},"
            f" {found[0]:.3f} to {found[-1]:.3f})"
        )


if __name__ == "__main__":
    main()
