"""A service that can misbehave, for the tests of the supervisor."""

import argparse
import asyncio
import os
import signal
import sys

from localcloud.httpd import HttpServer, Request, Response
from localcloud.service import run_service


class Toy:
    def __init__(self, port: int) -> None:
        self._server = HttpServer(self._handle)
        self._port = port

    async def start(self) -> dict[str, str]:
        port = await self._server.start("127.0.0.1", self._port)
        return {"http": f"http://127.0.0.1:{port}"}

    async def stop(self) -> None:
        await self._server.stop()
        print("stopped in order", flush=True)

    def _handle(self, request: Request) -> Response:
        if request.path == "/die":
            asyncio.get_running_loop().call_later(0.05, os._exit, 7)
        return Response(200, str(os.getpid()).encode())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--behaviour", default="well")
    options = parser.parse_args()
    if options.behaviour == "refuse":
        sys.exit("toy: no")
    if options.behaviour == "stubborn":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    run_service(lambda: Toy(options.port))


if __name__ == "__main__":
    main()
