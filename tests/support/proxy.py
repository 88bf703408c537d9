"""A TCP proxy for a service without fault injection (Azurite)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

UNAVAILABLE = (
    b"HTTP/1.1 503 Service Unavailable\r\nx-ms-error-code: ServerBusy\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)


class FaultyProxy:
    """Forwards everything, but can fail the next connections."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self.address = ""
        self.hits = 0
        self._faults: list[str] = []
        self._open: set[asyncio.StreamWriter] = set()

    def fail_next(self, kind: str, times: int) -> None:
        """Fail the next connections: `reset` breaks them at the first bytes, `unavailable` answers 503."""
        self._faults = [kind] * times
        for writer in self._open:  # an open connection would not meet the fault
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(65536)
        if self._faults and first:
            self.hits += 1
            if self._faults.pop() == "unavailable":
                writer.write(UNAVAILABLE)
                await writer.drain()
            writer.close()
            return
        onward_reader, onward = await asyncio.open_connection(self._host, self._port)
        self._open |= {onward, writer}
        onward.write(first)
        await asyncio.gather(_copy(reader, onward), _copy(onward_reader, writer))
        self._open -= {onward, writer}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass  # the other side is gone, and so is this copy
    finally:
        writer.close()


@asynccontextmanager
async def faulty_proxy(target: str) -> AsyncIterator[FaultyProxy]:
    proxy = FaultyProxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await server.wait_closed()
