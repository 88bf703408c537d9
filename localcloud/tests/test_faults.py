import json
from typing import Any

import pytest

from localcloud.faults import FAULTS_PATH, FaultPlan
from localcloud.httpd import Request, Response


def ask(plan: FaultPlan, method: str, body: Any = None) -> tuple[int, Any]:
    response = plan.handle(
        Request(method, FAULTS_PATH, {}, b"" if body is None else json.dumps(body).encode())
    )
    assert isinstance(response, Response)
    return response.status, json.loads(response.body)


@pytest.fixture
def plan() -> FaultPlan:
    return FaultPlan({"busy", "drop"}, enabled=True)


def test_a_fault_applies_after_the_skipped_operations_and_a_limited_number_of_times(plan: FaultPlan) -> None:
    plan.replace([{"kind": "busy", "operation": "docs.*", "skip": 1, "times": 2}])
    operations = ["docs.read", "queues.read", "docs.read", "docs.create", "docs.read"]
    assert [plan.take(operation) is not None for operation in operations] == [False, False, True, True, False]


def test_a_fault_without_an_end_strikes_for_ever(plan: FaultPlan) -> None:
    plan.replace([{"kind": "busy", "times": None}])
    assert all(plan.take("any") for _ in range(100))


def test_hits_are_visible_and_the_plan_can_be_cleared(plan: FaultPlan) -> None:
    assert ask(plan, "PUT", [{"kind": "drop", "args": {"seconds": 2}}])[0] == 200
    plan.take("send")
    status, faults = ask(plan, "GET")
    assert (status, faults[0]["hits"], faults[0]["args"]) == (200, 1, {"seconds": 2})
    assert ask(plan, "DELETE") == (200, [])
    assert plan.take("send") is None


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "JSON array"),
        ([1], "fault 0: not an object"),
        ([{"kind": "drop"}, {"kind": "melt"}], "fault 1: kind 'melt' is not one of ['busy', 'drop']"),
        ([{"kind": "drop", "time": 1}], "unknown field 'time'"),
        ([{"kind": "drop", "times": -1}], "times is a whole number"),
        ([{"kind": "drop", "skip": True}], "skip is a whole number"),
        ([{"kind": "drop", "args": []}], "args an object"),
    ],
)
def test_a_malformed_plan_is_refused_and_the_old_one_stays(plan: FaultPlan, body: Any, says: str) -> None:
    plan.replace([{"kind": "busy"}])
    status, answer = ask(plan, "PUT", body)
    assert status == 400
    assert says in answer["error"]
    assert [fault.kind for fault in plan.faults] == ["busy"]


def test_without_faults_switched_on_the_plan_cannot_be_touched() -> None:
    plan = FaultPlan({"busy"})
    status, answer = ask(plan, "PUT", [{"kind": "busy"}])
    assert status == 403
    assert "--faults" in answer["error"]
