"""`python -m tools.mutants`: try every mutant, show the survivors, fail below the floor."""

import argparse
import multiprocessing
import sys

from tools.mutants.campaign import all_mutants, outcomes_of, try_all
from tools.mutants.report import percent_killed, table, without_equivalents, write_survivors
from tools.mutants.targets import FLOOR_PERCENT, TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("paths", nargs="*", help="only modules whose path contains one of these")
    parser.add_argument("--jobs", type=int, default=2, help="trials at once (default: 2)")
    parser.add_argument("--report", action="store_true", help="try nothing, show what is known")
    options = parser.parse_args()
    targets = [
        target
        for target in TARGETS
        if not options.paths or any(part in target.path for part in options.paths)
    ]
    fork = multiprocessing.get_context("fork")
    for target in [] if options.report else targets:
        # Each in a process of its own: what is imported for one module depends on it.
        campaign = fork.Process(target=try_all, args=(target,), kwargs={"jobs": options.jobs})
        campaign.start()
        campaign.join()
        if campaign.exitcode:
            return 2
    counted, equivalents, stale = without_equivalents({target: outcomes_of(target) for target in targets})
    write_survivors(counted)
    print(f"\n{table(counted)}\n{equivalents} equivalent mutants are not counted.")  # noqa: T201
    untried = [target.path for target in targets if len(outcomes_of(target)) < len(all_mutants(target))]
    for path in untried:
        print(f"not all tried: {path}")  # noqa: T201
    for entry in stale:
        print(f"equivalent.toml lists what does not survive: {entry}")  # noqa: T201
    tried = [outcome for outcomes in counted.values() for outcome in outcomes]
    alive = [outcome.mutant.name for outcome in tried if outcome.mutant.name and not outcome.killed]
    return int(bool(percent_killed(tried) < FLOOR_PERCENT or alive or untried or stale))


if __name__ == "__main__":
    sys.exit(main())
