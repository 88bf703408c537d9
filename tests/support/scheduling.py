"""The assignment of tests to the workers of `pytest -n`.

A worker gets all tests of a file, so that services and hosts of its fixtures start once. xdist's own order
gives single tests to any free worker, so up to four workers would start the same fixtures. Long files start
first, so that no worker is left with one at the end.
"""

from typing import Any

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

__all__ = ["FilesLongestFirst"]

# These tests share a fixture of the session, the site with the samples, whose start takes longer than all of
# them.
ON_THE_SITE = (
    "tests/web/api/", "tests/web/pages/", "tests/web/operator/test_calm.py", "tests/web/test_calls.py",
    "tests/web/test_digest_outcomes.py", "tests/web/test_head.py",
)  # fmt: skip
NOT_ON_THE_SITE = ("tests/web/api/test_ingestion.py", "tests/web/api/test_progress.py")
OPERATOR = "tests/web/operator/"  # these share an app without mail
LONGEST_FIRST = (
    "tests/simulation/",
    "tests/web/",
    "tests/operations/",
    "tests/stages/",
    "tests/ops/",
    "tests/system/",
    "tests/pipeline/test_runner.py",
    "tests/embedding/",
    "tests/evaluation/",
    "tests/infra/",
)


def unit_of(file: str) -> str:
    if file.startswith(ON_THE_SITE) and file not in NOT_ON_THE_SITE:
        return "tests/web/"
    return OPERATOR if file.startswith(OPERATOR) else file


def rank(unit: str) -> int:
    ranks = (number for number, start in enumerate(LONGEST_FIRST) if unit.startswith(start))
    return next(ranks, len(LONGEST_FIRST))


class FilesLongestFirst(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return unit_of(str(super()._split_scope(nodeid)))

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=rank), last=False)
        super()._assign_work_unit(node)
