"""Blob storage: upload, stream and sign raw archives."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azure.core import MatchConditions
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)

from shared.azure.calls import Calls
from shared.core.errors import DocumentNotFoundError
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from azure.storage import blob as storage
    from azure.storage.blob.aio import BlobClient, BlobServiceClient, StorageStreamDownloader
else:
    storage = lazy("azure.storage.blob")

ARCHIVES_CONTAINER = "archives"
DEAD_LETTERS_CONTAINER = "dead-letters"  # purged dead letters, and the progress of operations
NOT_SATISFIABLE = 416
CLOCK_SKEW = timedelta(minutes=5)  # an upload address is valid this long before now, because clocks differ
BLOCK_DIGITS = 8

Progress = Callable[[int, int | None], Awaitable[None]]


def _progress(renew: Callable[[], None]) -> Progress:
    """Return a callback that renews the deadline, so that a large blob is limited only while it stalls."""

    async def moved(_so_far: int, _total: int | None) -> None:
        renew()

    return moved


def _block_id(number: int) -> str:
    return f"{number:0{BLOCK_DIGITS}d}"


class Blobs:
    def __init__(self, client: "BlobServiceClient", calls: Calls | None = None) -> None:
        self._client = client
        self._calls = calls or Calls("blobs")

    def _blob(self, container: str, path: str) -> "BlobClient":
        return self._client.get_blob_client(container, path)

    async def ensure_container(self, name: str) -> None:
        async with self._calls.measured("ensure_container", writes=True):
            try:
                await self._client.create_container(name)
            except ResourceExistsError:
                return

    async def has_container(self, name: str) -> bool:
        async with self._calls.measured("has_container"):
            return await self._client.get_container_client(name).exists()

    async def upload(
        self, container: str, path: str, content: bytes | IO[bytes] | AsyncIterable[bytes], **options: Any
    ) -> None:
        async with self._calls.measured("upload", writes=True) as renew:
            blob = self._blob(container, path)
            await blob.upload_blob(content, overwrite=True, progress_hook=_progress(renew), **options)

    async def append(self, container: str, path: str, content: bytes) -> None:
        """Append to a blob, completely or not at all. After a lost response, it may be appended twice."""
        async with self._calls.measured("append", writes=True):
            blob = self._blob(container, path)
            try:
                await blob.append_block(content)
            except ResourceNotFoundError:
                # If-None-Match, so that a blob that is created at the same time is not overwritten.
                with suppress(ResourceExistsError, ResourceModifiedError):
                    await blob.create_append_blob(match_condition=MatchConditions.IfMissing)
                await blob.append_block(content)

    async def stage_part(self, container: str, path: str, number: int, content: bytes) -> None:
        async with self._calls.measured("stage_part", writes=True):
            await self._blob(container, path).stage_block(_block_id(number), content)

    async def staged_parts(self, container: str, path: str) -> dict[int, int]:
        """Return the sizes of the parts that are uploaded but not joined yet, by number."""
        async with self._calls.measured("staged_parts"):
            try:
                _, staged = await self._blob(container, path).get_block_list("uncommitted")
            except ResourceNotFoundError:
                return {}
        # A client with an upload address can give a block any name.
        ours = [block for block in staged if len(block.id) == BLOCK_DIGITS and block.id.isdecimal()]
        return {int(block.id): block.size for block in ours}

    async def join_parts(self, container: str, path: str, count: int) -> None:
        async with self._calls.measured("join_parts", writes=True):
            blocks = [storage.BlobBlock(_block_id(number)) for number in range(count)]
            await self._blob(container, path).commit_block_list(blocks)

    @property
    def origin(self) -> str:
        parts = urlsplit(self._client.url)
        return f"{parts.scheme}://{parts.netloc}"

    async def upload_address(self, container: str, path: str, *, since: datetime, until: datetime) -> str:
        """Return a URL with a shared access signature that allows writing this blob for a while."""
        blob, start = self._blob(container, path), since - CLOCK_SKEW
        key = getattr(self._client.credential, "account_key", None)
        delegated = None
        if key is None:
            async with self._calls.measured("delegation_key"):
                delegated = await self._client.get_user_delegation_key(start, until)
        signature = storage.generate_blob_sas(
            self._client.account_name or "",
            container,
            path,
            account_key=key,
            user_delegation_key=delegated,
            permission=storage.BlobSasPermissions(write=True),
            start=start,
            expiry=until,
            protocol="https" if self.origin.startswith("https:") else "https,http",
        )
        return f"{blob.url}?{signature}"

    async def allow_uploads_from(self, origin: str) -> None:
        """Allow uploads from pages of this origin. In Azure the deployment configures this."""
        headers = ["content-type", "x-ms-*"]
        rule = storage.CorsRule([origin], ["PUT"], allowed_headers=headers, max_age_in_seconds=3600)
        async with self._calls.measured("allow_uploads", writes=True):
            await self._client.set_service_properties(cors=[rule])

    async def read(self, container: str, path: str) -> AsyncIterator[bytes]:
        async with self._calls.measured("open"):
            pieces = aiter((await self._download(container, path)).chunks())
        while True:
            async with self._calls.measured("read"):
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece

    async def read_part(self, container: str, path: str, offset: int, length: int) -> bytes:
        async with self._calls.measured("read"):
            try:
                return await (await self._download(container, path, offset=offset, length=length)).readall()
            except HttpResponseError as error:
                if error.status_code == NOT_SATISFIABLE:  # it ends before
                    return b""
                raise

    async def save(self, container: str, path: str, file: IO[bytes]) -> None:
        async with self._calls.measured("save") as renew:
            await (await self._download(container, path, progress_hook=_progress(renew))).readinto(file)

    async def _download(self, container: str, path: str, **options: Any) -> "StorageStreamDownloader[bytes]":
        try:
            found: StorageStreamDownloader[bytes] = await self._blob(container, path).download_blob(**options)
        except ResourceNotFoundError:
            raise DocumentNotFoundError(f"there is no blob {container}/{path}") from None
        return found

    async def delete(self, container: str, path: str) -> bool:
        async with self._calls.measured("delete", writes=True):
            try:
                await self._blob(container, path).delete_blob()
            except ResourceNotFoundError:
                return False
        return True

    async def names(self, container: str, prefix: str) -> list[str]:
        found: list[str] = []
        async with self._calls.measured("list") as renew:
            listed = self._client.get_container_client(container).list_blob_names(name_starts_with=prefix)
            try:
                async for name in listed:
                    found.append(name)
                    renew()
            except ResourceNotFoundError:
                return []
        return found

    async def etag(self, container: str, path: str) -> str | None:
        async with self._calls.measured("etag"):
            try:
                return (await self._blob(container, path).get_blob_properties()).etag
            except ResourceNotFoundError:
                return None

    async def size(self, container: str, path: str) -> int | None:
        """Return the size, or None if the blob does not exist."""
        async with self._calls.measured("size"):
            try:
                return (await self._blob(container, path).get_blob_properties()).size
            except ResourceNotFoundError:
                return None

    async def upload_if(self, container: str, path: str, content: bytes, etag: str | None) -> bool:
        """Replace this version, or create the blob without an ETag. Return whether the version matched."""
        condition: dict[str, Any] = {"overwrite": False}
        if etag:
            condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified, "overwrite": True}
        async with self._calls.measured("upload", writes=True) as renew:
            try:
                hook = _progress(renew)
                await self._blob(container, path).upload_blob(content, progress_hook=hook, **condition)
            except (ResourceExistsError, ResourceModifiedError, ResourceNotFoundError):
                return False
        return True

    async def delete_if(self, container: str, path: str, etag: str) -> bool:
        """Delete this version. Return whether it matched. A missing blob counts as deleted."""
        async with self._calls.measured("delete", writes=True):
            try:
                same = MatchConditions.IfNotModified
                await self._blob(container, path).delete_blob(etag=etag, match_condition=same)
            except ResourceNotFoundError:
                return True
            except ResourceModifiedError:
                return False
        return True

    async def close(self) -> None:
        await self._client.close()
