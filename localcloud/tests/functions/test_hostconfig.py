"""host.json and its overrides."""

import json
from pathlib import Path
from typing import Any

import pytest

from localcloud.functions.hostconfig import HostConfig, ServiceBusOptions, load_host_config
from localcloud.functions.problems import Problems


def config(folder: Path, document: Any = None, **environ: str) -> tuple[HostConfig, Problems]:
    text = document if isinstance(document, str) else json.dumps(document or {"version": "2.0"})
    (folder / "host.json").write_text(text, encoding="utf-8")
    problems = Problems()
    return load_host_config(folder, environ, problems), problems


def test_the_defaults_are_the_real_hosts(tmp_path: Path) -> None:
    found, problems = config(tmp_path)
    assert problems.errors == []
    assert found == HostConfig(
        route_prefix="api",
        function_timeout_seconds=1800,
        functions=None,
        service_bus=ServiceBusOptions(
            auto_complete_messages=True,
            max_concurrent_calls=16,
            prefetch_count=0,
            max_auto_lock_renewal_seconds=300,
        ),
    )


def test_settings_of_the_file_are_taken(tmp_path: Path) -> None:
    service_bus = {
        "prefetchCount": 5,
        "autoCompleteMessages": False,
        "maxConcurrentCalls": 2,
        "maxAutoLockRenewalDuration": "00:10:00",
        "transportType": "amqpTcp",
    }
    found, problems = config(
        tmp_path,
        {
            "version": "2.0",
            "functionTimeout": "00:00:30",
            "functions": ["One", "two"],
            "extensions": {"http": {"routePrefix": ""}, "serviceBus": service_bus},
        },
    )
    assert problems.errors == []
    assert found.route_prefix == ""
    assert found.function_timeout_seconds == 30
    assert found.functions == frozenset({"one", "two"})
    assert found.service_bus == ServiceBusOptions(
        auto_complete_messages=False,
        max_concurrent_calls=2,
        prefetch_count=5,
        max_auto_lock_renewal_seconds=600,
    )


def test_variables_override_the_file_whatever_their_case(tmp_path: Path) -> None:
    found, problems = config(
        tmp_path,
        {"version": "2.0", "extensions": {"serviceBus": {"maxConcurrentCalls": 2}}, "functions": ["a"]},
        AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls="7",
        AZUREFUNCTIONSJOBHOST__EXTENSIONS__HTTP__ROUTEPREFIX="v1",
        AzureFunctionsJobHost__functionTimeout="-1",
        AzureFunctionsJobHost__extensions__serviceBus__autoCompleteMessages="False",
        AzureFunctionsJobHost__functions__1="B",
    )
    assert problems.errors == []
    assert found.service_bus.max_concurrent_calls == 7
    assert not found.service_bus.auto_complete_messages
    assert found.route_prefix == "v1"
    assert found.function_timeout_seconds is None
    assert found.functions == frozenset({"a", "b"})


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    problems = Problems()
    load_host_config(tmp_path, {}, problems)
    assert len(problems.errors) == 1
    assert problems.errors[0].startswith("host.json: not found")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("{", "is not JSON"),
        ("nonsense", "is not JSON"),
        ({"version": "1.0"}, "version is '1.0'"),
        (
            {"version": "2.0", "functionTimeout": "soon"},
            "host.json: functionTimeout: 'soon' is not a time span",
        ),
        ({"version": "2.0", "functionTimeout": "00:00:00"}, "functionTimeout: is not positive"),
        ({"version": "2.0", "extensions": []}, "extensions: is not an object"),
        ({"version": "2.0", "extensions": {"http": {"routePrefix": 5}}}, "routePrefix: is 5"),
        (
            {"version": "2.0", "extensions": {"serviceBus": {"maxConcurrentCalls": 0}}},
            "host.json: extensions: serviceBus: maxConcurrentCalls: is 0",
        ),
        ({"version": "2.0", "extensions": {"serviceBus": {"autoCompleteMessages": "maybe"}}}, "is 'maybe'"),
        ({"version": "2.0", "extensions": {"serviceBus": {"transportType": "udp"}}}, "not supported"),
        ({"version": "2.0", "functions": "one"}, "functions: is not an array"),
    ],
)
def test_a_problem_of_the_file_is_reported_with_its_place(
    tmp_path: Path, document: Any, expected: str
) -> None:
    _, problems = config(tmp_path, document)
    assert len(problems.errors) == 1
    assert expected in problems.errors[0]


def test_settings_of_the_former_extension_are_warned_of(tmp_path: Path) -> None:
    _, problems = config(
        tmp_path, {"version": "2.0", "extensions": {"serviceBus": {"messageHandlerOptions": {}}}}
    )
    assert problems.errors == []
    assert "messageHandlerOptions is a setting of extension 4.x" in problems.warnings[0]
