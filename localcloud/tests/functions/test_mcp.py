"""Tools and resources over streamable HTTP, from the view of an MCP client."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functions.support import HEADER, Host, running_host, write_app

ENDPOINT = "/runtime/webhooks/mcp"
CODE = (
    HEADER
    + """
import json

PROPERTIES = json.dumps([
    {"propertyName": "word", "propertyType": "string", "description": "said back", "isRequired": True},
    {"propertyName": "times", "propertyType": "integer", "description": "", "isRequired": False},
])

@app.mcp_tool_trigger(arg_name="call", tool_name="echo", description="Says it back.", tool_properties=PROPERTIES)
async def echo(call: str) -> str:
    return call

@app.mcp_tool_trigger(arg_name="call", tool_name="fails", description="Fails.", tool_properties="[]")
def fails(call: str) -> str:
    raise RuntimeError("a secret")

@app.mcp_resource_trigger(arg_name="call", uri="notes://all/{id}", resource_name="note", mime_type="text/plain")
async def note(call: str) -> str:
    return json.loads(call)["uri"]

@app.mcp_resource_trigger(arg_name="call", uri="notes://index", resource_name="index", mime_type="text/plain")
async def index(call: str) -> str:
    return "index"
"""
)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    root = tmp_path_factory.mktemp("mcp")
    options = {"mcp": {"serverName": "Notes", "instructions": "Read them."}}
    write_app(root / "app", CODE, host={"version": "2.0", "extensions": options})
    with running_host(root / "app", root / "data") as running:
        yield running


def ask(host: Host, method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = host.ask("POST", ENDPOINT, json.dumps(message))
    assert (answer.status, answer.json()["id"]) == (200, 7)
    return answer.json()


@pytest.mark.parametrize(
    ("asked", "offered"), [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25"), (7, "2025-11-25")]
)
def test_a_client_and_the_host_agree_on_a_version(host: Host, asked: object, offered: str) -> None:
    result = ask(host, "initialize", protocolVersion=asked, capabilities={})["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == (offered, "Notes")
    assert result["instructions"] == "Read them."
    assert set(result["capabilities"]) == {"tools", "resources"}
    assert ask(host, "ping")["result"] == {}


def test_tools_are_listed_with_their_schema_and_called_with_the_clients_headers(host: Host) -> None:
    tools = {tool["name"]: tool for tool in ask(host, "tools/list")["result"]["tools"]}
    assert set(tools) == {"echo", "fails"}
    assert tools["echo"]["inputSchema"]["required"] == ["word"]
    assert tools["echo"]["inputSchema"]["properties"]["times"]["type"] == "integer"
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    message["params"] = {"name": "echo", "arguments": {"word": "x"}}
    answer = host.ask("POST", ENDPOINT, json.dumps(message), x_who="ada").json()["result"]
    said = json.loads(answer["content"][0]["text"])
    assert (said["name"], said["arguments"], answer["isError"]) == ("echo", {"word": "x"}, False)
    assert said["transport"]["properties"]["headers"]["x-who"] == "ada"


def test_a_tool_that_raises_is_an_error_without_its_words(host: Host) -> None:
    answer = ask(host, "tools/call", name="fails")
    assert answer["result"]["isError"] is True
    assert "secret" not in json.dumps(answer)


def test_resources_are_read_by_address_and_by_template(host: Host) -> None:
    assert [item["uri"] for item in ask(host, "resources/list")["result"]["resources"]] == ["notes://index"]
    (template,) = ask(host, "resources/templates/list")["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "notes://all/{id}"
    (content,) = ask(host, "resources/read", uri="notes://all/7")["result"]["contents"]
    assert (content["text"], content["mimeType"]) == ("notes://all/7", "text/plain")
    for missing in ("notes://all/7/8", "notes://other", ""):
        assert ask(host, "resources/read", uri=missing)["error"]["code"] == -32002


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("nothing/here", {}, -32601),
        ("tools/call", {"name": "nobody"}, -32602),
        ("tools/call", {"name": "echo"}, -32602),
        ("tools/call", {"name": "echo", "arguments": [1]}, -32602),
    ],
)
def test_what_is_at_fault_is_a_json_rpc_error(
    host: Host, method: str, params: dict[str, Any], code: int
) -> None:
    assert ask(host, method, **params)["error"]["code"] == code


def test_what_is_no_request_is_answered_by_the_status(host: Host) -> None:
    assert host.get(ENDPOINT).status == 405
    for body in (b"{", b"[]", b"[" * 100_000, b'{"id": 1, "method": 5}'):
        assert host.ask("POST", ENDPOINT, body).status == 400
    for message in ({"method": "notifications/initialized"}, {"id": 3, "result": {}}):
        assert host.ask("POST", ENDPOINT, json.dumps(message)).status == 202
    assert host.ask("POST", ENDPOINT, "{}", origin="https://elsewhere.example").status == 403


def test_with_keys_the_endpoint_asks_for_one_unless_it_is_anonymous(tmp_path: Path) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    for level, without in (("System", 401), ("Anonymous", 200)):
        options = {"mcp": {"system": {"webhookAuthorizationLevel": level}}}
        root = write_app(tmp_path / level, CODE, host={"version": "2.0", "extensions": options})
        with running_host(root, tmp_path / f"{level}-data", "--enable-auth") as host:
            assert host.ask("POST", ENDPOINT, message).status == without
            keys = json.loads((tmp_path / f"{level}-data" / "keys.json").read_text(encoding="utf-8"))
            assert host.ask("POST", ENDPOINT, message, x_functions_key=keys["masterKey"]).status == 200
