"""The part of azure-storage-blob that shared.azure.blobs.Blobs uses, on a dictionary."""

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import IO, Any

from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
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


LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
ERRORS = Errors(_broken, _refused)
Stored = dict[tuple[str, str], bytes]


class _Download:
    def __init__(self, content: bytes) -> None:
        self._content = content

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._content

    async def readinto(self, file: IO[bytes]) -> int:
        return file.write(self._content)


class _Blob:
    def __init__(self, network: Network, stored: Stored, key: tuple[str, str]) -> None:
        self._network, self._stored, self._key = network, stored, key

    async def upload_blob(
        self,
        content: Any,
        *,
        overwrite: bool,
        progress_hook: Any = None,
        etag: str | None = None,
        match_condition: object = None,
    ) -> None:
        data = content.read() if hasattr(content, "read") else bytes(content)

        def effect() -> None:
            if not overwrite and self._key in self._stored:
                raise ResourceExistsError(f"{self._key[1]} is there")
            if etag is not None and etag != hashlib.blake2b(self._existing()).hexdigest():
                raise ResourceModifiedError(f"{self._key[1]} has changed")
            self._stored[self._key] = data

        await self._call("upload", effect)

    async def download_blob(self, *, progress_hook: Any = None) -> _Download:
        return _Download(await self._call("download", self._existing))

    async def append_block(self, content: bytes) -> None:
        await self._call("append", lambda: self._stored.__setitem__(self._key, self._existing() + content))

    async def create_append_blob(self, *, match_condition: object) -> None:
        await self._call("create", lambda: self._stored.setdefault(self._key, b""))

    async def get_blob_properties(self) -> Any:
        content = await self._call("properties", self._existing)
        return SimpleNamespace(etag=hashlib.blake2b(content).hexdigest(), size=len(content))

    async def delete_blob(self, *, etag: str | None = None, match_condition: object = None) -> None:
        def effect() -> None:
            content = self._existing()
            if etag is not None and etag != hashlib.blake2b(content).hexdigest():
                raise ResourceModifiedError(f"{self._key[1]} has changed")
            del self._stored[self._key]

        await self._call("delete", effect)

    def _existing(self) -> bytes:
        if self._key not in self._stored:
            raise ResourceNotFoundError(f"there is no blob {self._key[1]}")
        return self._stored[self._key]

    async def _call(self, operation: str, effect: Any) -> Any:
        return await self._network.call("blobs", operation, effect, ERRORS, self._key[1])


class _Container:
    def __init__(self, network: Network, stored: Stored, name: str) -> None:
        self._network, self._stored, self._name = network, stored, name

    async def list_blob_names(self, *, name_starts_with: str) -> AsyncIterator[str]:
        def effect() -> list[str]:
            inside = (path for container, path in self._stored if container == self._name)
            return sorted(path for path in inside if path.startswith(name_starts_with))

        for path in await self._network.call("blobs", "list", effect, ERRORS, name_starts_with):
            yield path

    async def list_blobs(self) -> AsyncIterator[Any]:
        async for path in self.list_blob_names(name_starts_with=""):
            yield SimpleNamespace(name=path, last_modified=LONG_AGO)


class SimulatedBlobService:
    def __init__(self, network: Network, stored: Stored) -> None:
        self._network, self._stored = network, stored

    def get_container_client(self, container: str) -> _Container:
        return _Container(self._network, self._stored, container)

    def get_blob_client(self, container: str, path: str) -> _Blob:
        return _Blob(self._network, self._stored, (container, path))

    async def close(self) -> None:
        """Nothing to close."""
