"""Benchmark of `import function_app` in a new process, with the share of each package.

    python -m benchmarks.cold_start [--runs 7]

On a shared machine, CPU time is more reliable than wall time. The ratio is to azure.functions and pydantic
alone, which every app of this kind must load.
"""

import argparse
import re
import statistics
import subprocess
import sys
from collections import Counter

APP = "import function_app"
BASE = "import azure.functions, pydantic"
TIMED = """
import time
wall, cpu = time.perf_counter(), time.process_time()
{code}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""
LIMIT_SECONDS = 2.0
SHOWN = 12
_LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


def timed(code: str) -> tuple[float, float]:
    """Return the wall and CPU seconds of the code in a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(code=code)], capture_output=True, text=True, check=True
    )
    wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


def by_package() -> Counter[str]:
    """Return the microseconds of each package's own modules."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", APP], capture_output=True, text=True, check=True
    )
    found: Counter[str] = Counter()
    for line in done.stderr.splitlines():
        match = _LINE.match(line)
        if match is not None:
            found[match[2].partition(".")[0]] += int(match[1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    timed(APP)  # compiles modules that are not compiled yet
    app, base = [], []
    for _ in range(runs):  # alternating, so that both run under the same conditions
        app.append(timed(APP))
        base.append(timed(BASE))
    wall, cpu = (statistics.median(column) for column in zip(*app, strict=True))
    base_wall, base_cpu = (statistics.median(column) for column in zip(*base, strict=True))
    print(
        f"import function_app: {wall:.2f} s wall, {cpu:.2f} s CPU"
        f" (medians of {runs}; best {min(app)[0]:.2f} s)"
    )
    print(f"  of it azure.functions and pydantic: {base_wall:.2f} s wall, {base_cpu:.2f} s CPU")
    print(f"  ratio by CPU: {cpu / base_cpu:.2f}")
    total = by_package()
    for name, microseconds in total.most_common(SHOWN):
        print(f"  {name:<24} {microseconds / total.total():6.1%}")
    verdict = "holds" if wall < LIMIT_SECONDS else "MISSED"
    print(f"under {LIMIT_SECONDS:.0f} s: {verdict}")


if __name__ == "__main__":
    main()
