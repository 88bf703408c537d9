"""The modules that are mutated, the tests that judge each, and the changes that must never survive."""

from dataclasses import dataclass

__all__ = ["FLOOR_PERCENT", "NAMED", "TARGETS", "NamedChange", "Target"]

FLOOR_PERCENT = 90.0


@dataclass(frozen=True)
class Target:
    path: str
    tests: tuple[str, ...]  # fast ones only: each mutant runs them all, until one fails
    only: tuple[str, ...] = ()  # these functions; all of the module where there are none
    preload: tuple[str, ...] = ("tests.support.cosmos_engine", "tests.support.documents")  # what they share

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".")


@dataclass(frozen=True)
class NamedChange:
    path: str
    name: str
    before: str
    after: str


_LIFECYCLE = "tests/pipeline/lifecycle"
_RETRY = "tests/pipeline/retry"


def _lifecycle(name: str) -> Target:
    return Target(f"shared/pipeline/lifecycle/{name}.py", (f"{_LIFECYCLE}/test_{name}.py",))


TARGETS = (
    Target(
        "shared/domain/consensus/votes.py",
        ("tests/domain/consensus/test_reading_votes.py", "tests/domain/consensus/test_ballots.py"),
        preload=(),
    ),
    Target("shared/pipeline/retry/policies.py", (f"{_RETRY}/test_policies.py",)),
    Target("shared/pipeline/retry/delays.py", (f"{_RETRY}/test_delays.py",)),
    Target("shared/pipeline/retry/loops.py", (f"{_RETRY}/test_loops.py",)),
    Target("shared/upkeep/requeue/policy.py", ("tests/upkeep/requeue/test_policy.py",)),
    Target("shared/clients/cosmos/lease.py", ("tests/clients/cosmos/test_lease.py",)),
    Target("shared/pipeline/readiness.py", ("tests/pipeline/test_readiness.py",)),
    Target("shared/pipeline/delivery.py", ("tests/pipeline/test_settlement.py",)),
    Target(
        "shared/pipeline/runner.py",
        ("tests/pipeline/test_settlement.py",),
        # What decides settlement. Spans, log lines and metrics are the tests' of the local cloud.
        only=(
            "_run", "_validated", "_attempt", "_refuse_known_failure", "_decide", "_waits_in_broker",
            "_count_attempt", "_announce", "_events", "_give_up", "_record_and_announce_failure",
            "_best_effort", "_summary",
        ),
    ),
    Target(
        "stages/registration.py",
        ("tests/stages/test_registration.py",),
        # The rest connects to Azure, or needs the preview extension.
        only=("register_stage", "delivery_from_functions", "delivery_from_sdk", "_utc", "_text"),
    ),
    Target("shared/pipeline/topology.py", ("tests/pipeline/test_topology.py",)),
    *(
        _lifecycle(name)
        for name in ("archives", "attempts", "chunks", "deliveries", "digests", "messages", "summaries",
                     "threads", "transitions")
    ),
)  # fmt: skip

NAMED = (
    NamedChange(
        "shared/clients/cosmos/lease.py",
        "a lease renewed at three times its life",
        "within=self._seconds / RENEWALS",
        "within=self._seconds * RENEWALS",
    ),
    NamedChange(
        "shared/pipeline/lifecycle/chunks.py",
        "is_settled ignores the model",
        " and chunk.embedding_model == model",
        "",
    ),
    NamedChange(
        "shared/pipeline/lifecycle/threads.py",
        "any report is noted as the thread's own",
        "condition = f\"c.summary_id = '{uuid.UUID(report.summary_id)}' AND NOT IS_STRING(c.merged_into)\"",
        'condition = "true"',
    ),
    NamedChange(
        "shared/pipeline/lifecycle/threads.py",
        "a claim that holds for seven months",
        "CLAIM_LIFETIME = timedelta(minutes=30)",
        "CLAIM_LIFETIME = timedelta(minutes=300_000)",
    ),
)
