"""The admin API, with and without required keys."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcloud.functions.keys import AccessKeys
from tests.functions.support import EXAMPLE_APP, NO_BROKER, Host, lines, running_host, wait_for

NOT_REPRODUCED = ["scale-out", "dynamic concurrency", "Easy Auth", "worker recycling"]


def test_the_status_identifies_the_dev_host_and_lists_missing_features(host: Host) -> None:
    status = host.get("/admin/host/status").json()
    assert status["state"] == "Running"
    assert status["isDevHost"] is True
    assert "not the real host" in status["versionDetails"]
    assert status["notReproduced"] == NOT_REPRODUCED


def test_the_banner_says_so_too(host: Host) -> None:
    assert "It is not the real host" in host.log
    assert all(feature in host.log for feature in NOT_REPRODUCED)
    assert f"hello: [GET,POST] http://localhost:{host.url.rpartition(':')[2]}/api/hello/{{name?}}" in host.log


def test_ping_is_answered(host: Host) -> None:
    assert host.get("/admin/host/ping").status == 200
    assert host.ask("POST", "/admin/host/ping").status == 200


def test_functions_are_listed_with_their_bindings(host: Host) -> None:
    functions = {function["name"]: function for function in host.get("/admin/functions").json()}
    assert {"hello", "tick", "on_order", "on_event"} <= set(functions)
    assert (
        functions["on_order"]["config"]["bindings"][0]["queueName"] == "orders"
    )  # resolved from %ORDERS_QUEUE%
    assert functions["hello"]["invoke_url_template"].endswith("/api/hello/{name?}")
    assert functions["tick"]["isDisabled"] is False


def test_one_function_is_described_whatever_the_case_of_its_name(host: Host) -> None:
    assert host.get("/admin/functions/Hello").json()["name"] == "hello"
    assert host.get("/admin/functions/unknown").status == 404


def test_a_timer_can_be_called(host: Host, output: Path) -> None:
    before = len(lines(output / "ticks"))
    assert host.ask("POST", "/admin/functions/tick", json.dumps({"input": ""})).status == 202
    wait_for(lambda: len(lines(output / "ticks")) > before)


def test_a_service_bus_function_can_be_called_with_a_body(host: Host, output: Path) -> None:
    assert host.ask("POST", "/admin/functions/on_order", json.dumps({"input": "by hand"})).status == 202
    wait_for(lambda: "by hand" in [line["body"] for line in lines(output / "orders")])
    answer = host.ask("POST", "/admin/functions/on_event", json.dumps({"input": {"a": 1}}))
    assert answer.status == 202
    wait_for(lambda: '{"a": 1}' in [line["body"] for line in lines(output / "events")])


def test_an_http_function_can_be_called(host: Host) -> None:
    before = host.log.count("Executed 'Functions.text' (Succeeded")
    assert host.ask("POST", "/admin/functions/text", json.dumps({"input": "x"})).status == 202
    wait_for(lambda: host.log.count("Executed 'Functions.text' (Succeeded") > before)


@pytest.mark.parametrize("body", ["", "[]", "{", '"text"'])
def test_a_call_without_a_json_object_is_400(host: Host, body: str) -> None:
    assert host.ask("POST", "/admin/functions/tick", body).status == 400


def test_unknown_paths_and_methods_of_the_admin_api_are_404_or_405(host: Host) -> None:
    assert host.ask("POST", "/admin/functions/unknown", "{}").status == 404
    assert host.get("/admin/vfs/home").status == 404
    assert host.ask("DELETE", "/admin/functions/tick").status == 405
    assert host.ask("POST", "/admin/host/status").status == 405


@pytest.fixture
def output(host: Host) -> Path:
    return host.service.log.parent


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The example app in a dev host that requires keys."""
    folder = tmp_path_factory.mktemp("guarded")
    environ = {
        "BUS": NO_BROKER,
        "ORDERS_QUEUE": "orders",
        "TICK_SCHEDULE": "0 0 0 1 1 *",
        "EXAMPLE_OUTPUT": str(folder),
    }
    with running_host(EXAMPLE_APP, folder / "data", "--enable-auth", **environ) as running:
        yield running


@pytest.fixture
def keys(guarded: Host) -> dict[str, str]:
    document = json.loads((guarded.service.log.parent / "data" / "keys.json").read_text())
    return {
        "master": document["masterKey"],
        "host": document["hostKey"],
        "own": document["functionKeys"]["for_keys"],
        "other": document["functionKeys"]["for_master"],
    }


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/text", {None, "master", "host", "own", "other", "wrong"}),
        ("/api/for-keys", {"master", "host", "own"}),
        ("/api/for-master", {"master"}),
        ("/admin/host/status", {"master"}),
        ("/admin/functions", {"master"}),
        ("/admin/host/ping", {None, "master", "host", "own", "other", "wrong"}),
    ],
)
@pytest.mark.parametrize("key", [None, "master", "host", "own", "other", "wrong"])
def test_a_key_allows_the_operations_of_its_level(
    guarded: Host, keys: dict[str, str], path: str, key: str | None, allowed: set[str | None]
) -> None:
    expected = 200 if key in allowed else 401
    value = keys.get(key, "wrong") if key else None
    by_header = guarded.get(path, **({"x_functions_key": value} if value else {}))
    by_query = guarded.get(f"{path}?code={value}" if value else path)
    assert (by_header.status, by_query.status) == (expected, expected)


def test_a_refusal_has_no_body_and_runs_nothing(guarded: Host) -> None:
    before = guarded.log.count("Executing 'Functions.for_keys'")
    assert guarded.get("/api/for-keys").body == b""
    assert guarded.ask("POST", "/admin/functions/for_keys", "{}").status == 401
    assert guarded.log.count("Executing 'Functions.for_keys'") == before


def test_without_enable_auth_every_level_is_open(host: Host) -> None:
    assert host.get("/api/for-keys").status == 200
    assert host.get("/api/for-master").status == 200


def test_keys_are_for_their_owner_alone_and_never_logged(guarded: Host, keys: dict[str, str]) -> None:
    path = guarded.service.log.parent / "data" / "keys.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    guarded.get(f"/api/for-keys?code={keys['own']}")
    assert str(path) in guarded.log
    assert not any(key in guarded.log for key in keys.values())


def test_keys_stay_the_same_and_new_functions_get_new_keys(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "keys.json"
    AccessKeys(path, ["one"])
    first = json.loads(path.read_text())
    AccessKeys(path, ["two"])
    second = json.loads(path.read_text())
    assert second["masterKey"] == first["masterKey"]
    assert second["functionKeys"]["one"] == first["functionKeys"]["one"]
    assert second["functionKeys"]["two"] not in {*first["functionKeys"].values(), first["masterKey"]}


@pytest.mark.parametrize("text", ["{", "[]", '{"functionKeys": []}'])
def test_an_invalid_key_file_is_reported_and_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="delete it to get new"):
        AccessKeys(path, [])
    assert path.read_text() == text
