"""The endpoint of the MCP extension: an app's tools and resources over streamable HTTP.

It is stateless: each request gets one JSON body, and there is no server stream. A client that requests a
stream gets 405, as the protocol specifies.
"""

import asyncio
import functools
import json
import re
from typing import Any

from localcloud.functions.context import Trace
from localcloud.functions.definitions import Function, McpResourceTrigger, McpToolTrigger
from localcloud.functions.hostconfig import McpOptions
from localcloud.functions.invocation import Call, Invoker, Outcome
from localcloud.httpd import Request, Response

PATH = "/runtime/webhooks/mcp"
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")  # the first is offered where a client asks for another
REASON = "This function was called by an MCP client."
JSON = [("content-type", "application/json")]
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NO_RESOURCE = -32700, -32600, -32601, -32602, -32002
_TYPES = {"string", "integer", "number", "boolean", "object"}


class McpError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class McpEndpoint:
    def __init__(self, functions: dict[str, Function], invoker: Invoker, info: McpOptions) -> None:
        self._invoker, self.info = invoker, info
        ready = [function for function in functions.values() if not function.disabled]
        tools = [function for function in ready if isinstance(function.trigger, McpToolTrigger)]
        self._tools = {function.trigger.tool_name: function for function in tools}  # type: ignore[union-attr]
        self._resources = [function for function in ready if isinstance(function.trigger, McpResourceTrigger)]

    @property
    def is_there(self) -> bool:
        return bool(self._tools or self._resources)

    async def answer(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(405, b"", [("allow", "POST")])
        try:
            message = json.loads(request.body)
        except (ValueError, RecursionError):
            return _error(None, McpError(PARSE_ERROR, "The body is not JSON."), status=400)
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            return _error(None, McpError(INVALID_REQUEST, "One JSON-RPC message is expected."), status=400)
        if (
            message.get("id") is None or "method" not in message
        ):  # a notification, or an answer to none of ours
            return Response(202)
        params = message.get("params") if isinstance(message.get("params"), dict) else {}
        try:
            result = await self._result(message["method"], params or {}, request)
        except McpError as error:
            return _error(message["id"], error)
        return _json({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def _result(  # noqa: PLR0911 - a case each
        self, method: str, params: dict[str, Any], request: Request
    ) -> dict[str, Any]:
        match method:
            case "initialize":
                return self._initialized(params)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [_shown_tool(function) for function in self._tools.values()]}
            case "tools/call":
                return await self._call(params, request)
            case "resources/list":
                return {
                    "resources": [
                        _shown(found, "uri") for found in self._resources if not _is_template(found)
                    ]
                }
            case "resources/templates/list":
                templates = [found for found in self._resources if _is_template(found)]
                return {"resourceTemplates": [_shown(found, "uriTemplate") for found in templates]}
            case "resources/read":
                return await self._read(params, request)
        raise McpError(NO_METHOD, f"The method {method[:100]!r} is not known.")

    def _initialized(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        capabilities: dict[str, Any] = {"tools": {"listChanged": False}}
        if self._resources:
            capabilities["resources"] = {"listChanged": False, "subscribe": False}
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": capabilities,
            "serverInfo": {"name": self.info.server_name, "version": self.info.server_version},
            **({"instructions": self.info.instructions} if self.info.instructions else {}),
        }

    async def _call(self, params: dict[str, Any], request: Request) -> dict[str, Any]:
        function = self._tools.get(str(params.get("name")))
        if function is None:
            raise McpError(INVALID_PARAMS, f"There is no tool {str(params.get('name'))[:100]!r}.")
        arguments = params.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise McpError(INVALID_PARAMS, "The arguments have to be an object.")
        trigger = function.trigger
        assert isinstance(trigger, McpToolTrigger)  # noqa: S101 - only these are tools
        missing = [item["propertyName"] for item in trigger.properties if item.get("isRequired")]
        missing = [name for name in missing if name not in arguments]
        if missing:
            raise McpError(INVALID_PARAMS, f"The tool needs {', '.join(missing)}.")
        outcome = await self._run(function, {"name": trigger.tool_name, "arguments": arguments}, request)
        text = "An error occurred in the tool." if outcome.error else _text(outcome.value)
        return {"content": [{"type": "text", "text": text}], "isError": outcome.error is not None}

    async def _read(self, params: dict[str, Any], request: Request) -> dict[str, Any]:
        uri = str(params.get("uri"))
        for function in self._resources:
            trigger = function.trigger
            assert isinstance(trigger, McpResourceTrigger)  # noqa: S101 - only these are resources
            if _pattern(trigger.uri).fullmatch(uri):
                outcome = await self._run(function, {"uri": uri}, request)
                if outcome.error is not None:
                    raise McpError(-32603, "An error occurred in the resource.")
                content = {"uri": uri, "mimeType": trigger.mime_type, "text": _text(outcome.value)}
                return {"contents": [content]}
        raise McpError(NO_RESOURCE, f"There is no resource {uri[:200]!r}.")

    async def _run(self, function: Function, context: dict[str, Any], request: Request) -> Outcome:
        """Run a function with the headers in the extension's format, so that it can identify the client."""
        properties = {"headers": dict(request.headers)}
        transport = {"name": "http-streamable", "properties": properties}
        said = json.dumps({**context, "sessionid": None, "transport": transport})
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._invoker.start(function, Call(said, REASON, Trace()), functools.partial(_finish, done))
        return await done


def _finish(done: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not done.done():  # the peer may have left
        done.set_result(outcome)


def _shown_tool(function: Function) -> dict[str, Any]:
    trigger = function.trigger
    assert isinstance(trigger, McpToolTrigger)  # noqa: S101 - only these are tools
    schema = {
        "type": "object",
        "properties": {item["propertyName"]: _property(item) for item in trigger.properties},
        "required": [item["propertyName"] for item in trigger.properties if item.get("isRequired")],
    }
    return {"name": trigger.tool_name, "description": trigger.description, "inputSchema": schema}


def _property(item: dict[str, Any]) -> dict[str, Any]:
    kind = item.get("propertyType")
    shown = {"type": kind if kind in _TYPES else "string", "description": item.get("description") or ""}
    return {"type": "array", "items": shown} if item.get("isArray") else shown


def _shown(function: Function, key: str) -> dict[str, Any]:
    trigger = function.trigger
    assert isinstance(trigger, McpResourceTrigger)  # noqa: S101 - only these are resources
    shown = {key: trigger.uri, "name": trigger.name, "mimeType": trigger.mime_type}
    return shown | ({"description": trigger.description} if trigger.description else {})


def _is_template(function: Function) -> bool:
    return isinstance(function.trigger, McpResourceTrigger) and "{" in function.trigger.uri


def _pattern(uri: str) -> re.Pattern[str]:
    """Return the pattern of a URI template. A variable matches one segment."""
    return re.compile(
        "".join("[^/]+" if part[:1] == "{" else re.escape(part) for part in re.split(r"(\{\w+\})", uri))
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _json(body: dict[str, Any], status: int = 200) -> Response:
    return Response(status, json.dumps(body).encode(), list(JSON))


def _error(id_: Any, error: McpError, status: int = 200) -> Response:
    return _json({"jsonrpc": "2.0", "id": id_, "error": {"code": error.code, "message": str(error)}}, status)
