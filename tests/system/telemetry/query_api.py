"""Log Analytics' query API over the receiver's data: our KQL engine behind the SDK's wire format."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from tests.infra.kql_engine import KqlError, Rows, run_kql
from tests.system.telemetry.tables import tables_of

WORKSPACE = "11111111-2222-3333-4444-555555555555"


@contextmanager
def query_api(folder: Path) -> Iterator[str]:
    """Serve a workspace with the spans of this receiver's folder."""

    class Handler(_Handler):
        tables_from = folder

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    tables_from: ClassVar[Path]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != f"/v1/workspaces/{WORKSPACE}/query":
            return self._answer(404, {"error": {"code": "WorkspaceNotFoundError", "message": "no workspace"}})
        try:
            rows = run_kql(asked["query"], tables_of(self.tables_from), datetime.now(UTC).timestamp())
        except KqlError as error:
            return self._answer(400, {"error": {"code": "BadArgumentError", "message": str(error)}})
        return self._answer(200, {"tables": [_table(rows)]})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: Any) -> None:
        """Discard the server's log, because the test reports errors."""


def _table(rows: Rows) -> dict[str, Any]:
    types = {"TimeGenerated": "datetime", "Last": "datetime", "Properties": "dynamic", "DurationMs": "real"}
    names = list(rows[0]) if rows else []
    return {
        "name": "PrimaryResult",
        "columns": [{"name": name, "type": types.get(name, "string")} for name in names],
        "rows": [[_value(types.get(name), row[name]) for name in names] for row in rows],
    }


def _value(type_: str | None, value: Any) -> Any:
    """Encode a value as the service does: times as ISO 8601, dynamic values as JSON text."""
    if type_ == "datetime":
        return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")
    return json.dumps(value) if type_ == "dynamic" else value
