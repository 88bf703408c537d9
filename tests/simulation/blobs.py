"""What shared.clients.blobs.Blobs asks of azure-storage-blob, on a dictionary."""

from typing import IO, Any

from azure.core.exceptions import (
    HttpResponseError,
    ResourceNotFoundError,
    ServiceRequestError,
    ServiceResponseError,
)

from tests.simulation.chance import Fault
from tests.simulation.network import Errors, Network


def _broken(sent: bool) -> Exception:
    return (ServiceResponseError if sent else ServiceRequestError)("the connection broke")


def _refused(fault: Fault) -> Exception:
    error = HttpResponseError("refused by the simulation")
    error.status_code = 429 if fault is Fault.THROTTLE else 503
    return error


ERRORS = Errors(_broken, _refused)
Stored = dict[tuple[str, str], bytes]


class _Download:
    def __init__(self, content: bytes) -> None:
        self._content = content

    async def readinto(self, file: IO[bytes]) -> int:
        return file.write(self._content)


class _Blob:
    def __init__(self, network: Network, stored: Stored, key: tuple[str, str]) -> None:
        self._network, self._stored, self._key = network, stored, key

    async def upload_blob(self, content: Any, *, overwrite: bool, progress_hook: Any = None) -> None:
        data = content.read() if hasattr(content, "read") else bytes(content)
        await self._call("upload", lambda: self._stored.__setitem__(self._key, data))

    async def download_blob(self, *, progress_hook: Any = None) -> _Download:
        return _Download(await self._call("download", self._existing))

    async def delete_blob(self) -> None:
        def effect() -> None:
            self._existing()
            del self._stored[self._key]

        await self._call("delete", effect)

    def _existing(self) -> bytes:
        if self._key not in self._stored:
            raise ResourceNotFoundError(f"there is no blob {self._key[1]}")
        return self._stored[self._key]

    async def _call(self, operation: str, effect: Any) -> Any:
        return await self._network.call("blobs", operation, effect, ERRORS, self._key[1])


class SimulatedBlobService:
    def __init__(self, network: Network, stored: Stored) -> None:
        self._network, self._stored = network, stored

    def get_blob_client(self, container: str, path: str) -> _Blob:
        return _Blob(self._network, self._stored, (container, path))

    async def close(self) -> None:
        """There is no connection."""
