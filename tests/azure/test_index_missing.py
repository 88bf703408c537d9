"""In Azure the deployment creates the index. An app without an index reports it and creates none."""

import http.server
import threading
from collections.abc import Iterator

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.search.documents.indexes.aio import SearchIndexClient

from shared.azure.calls import Calls
from shared.azure.search.versions import IndexMissingError, Versions


@pytest.fixture
def refusing() -> Iterator[tuple[str, list[str]]]:
    """A search service without an index: it answers reads with 404, and writes with 403."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append(self.command)
            self.send_response(404 if self.command == "GET" else 403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_PUT = do_POST = _answer  # noqa: N815 - the names that the server calls

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_an_app_that_may_make_no_index_says_that_it_is_missing(
    refusing: tuple[str, list[str]],
) -> None:
    address, asked = refusing
    async with SearchIndexClient(address, AzureKeyCredential("k"), retry_total=0) as admin:
        versions = Versions(admin, "mail", "all-MiniLM-L6-v2", lambda: 0.0, Calls("search"))
        with pytest.raises(IndexMissingError, match=r"^the index mail-all-minilm-l6-v2-\d is not there: run"):
            await versions.check(384)
        assert {"GET", "PUT"} == set(asked)
