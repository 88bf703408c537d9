"""Large files sent directly to the storage: an address signed for one blob, for a limited time, for writing only."""

import base64
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
import trustme
from azure.core.credentials import AccessToken
from azure.storage.blob.aio import BlobServiceClient

from shared.azure.blobs import ARCHIVES_CONTAINER, Blobs
from shared.azure.connections import Clients
from shared.ingestion import uploads
from shared.ingestion.fetch_runs import run_operation
from shared.ingestion.uploads import PartedUpload, direct_address, join_and_request, store_part, stored_parts
from shared.models.sources import OperationStatus
from tests.ingestion.environment import Place
from tests.support.services import running_service

pytestmark = pytest.mark.asyncio(loop_scope="module")
SMALL = 1000
ACCOUNT = "devstoreaccount1"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", SMALL)


def in_real_time(place: Place, *, is_on: bool = True) -> Clients:
    """Use real time, because the storage checks an address with its own clock."""
    settings = place.clients.settings.model_copy(update={"DIRECT_UPLOADS": is_on})
    return replace(place.bench.clients, settings=settings)


def upload_of(place: Place, content: bytes) -> PartedUpload:
    return PartedUpload(f"list-{place.tag}", "big.mbox", len(content), 1)


async def put(address: str, number: int | str, content: bytes) -> tuple[int, str]:
    """Send a block as the browser's script does."""
    block = base64.b64encode((number if isinstance(number, str) else f"{number:08d}").encode()).decode()
    return await ask("PUT", f"{address}&comp=block&blockid={block}", content)


async def ask(method: str, address: str, content: bytes = b"", **headers: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, address, data=content, headers=headers) as answer,
    ):
        return answer.status, answer.headers.get("x-ms-error-code", "")


async def test_parts_go_past_the_app_or_through_it_and_are_taken_in_as_one_file(place: Place) -> None:
    content = place.mbox(*map(str, range(40)))
    clients, upload = in_real_time(place), upload_of(place, content)
    address = await direct_address(clients, upload)
    assert address is not None
    assert upload.count > 4
    for number in range(1, upload.count):
        part = content[number * SMALL : (number + 1) * SMALL]
        assert (await put(address, number, part))[0] == 201
    assert await stored_parts(clients, upload) == list(range(1, upload.count))
    await store_part(clients, upload, 0, content[:SMALL])
    operation = await join_and_request(clients, upload, "test")
    done = await run_operation(operation, clients)
    (taken,) = done.archives
    archive = await place.archive(taken.archive_id)
    assert await place.blob(archive) == content


async def test_an_address_writes_one_blob_for_a_while_and_does_nothing_else(place: Place) -> None:
    clients, upload = in_real_time(place), upload_of(place, b"x" * SMALL)
    address = await direct_address(clients, upload)
    assert address is not None
    signed = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert (signed["sp"], signed["sr"]) == ("w", "b")
    lifetime = datetime.fromisoformat(signed["se"]) - datetime.now(UTC)
    assert timedelta(minutes=25) < lifetime <= timedelta(minutes=30)
    assert (await put(address, 0, b"x" * SMALL))[0] == 201
    other = address.replace(upload.path, "incoming/of-somebody-else")
    container = address.replace(f"/{upload.path}?", "?restype=container&comp=list&")
    refused = [
        await put(other, 0, b"x"),
        await ask("GET", address),
        await ask("DELETE", address),
        await ask("GET", f"{address}&comp=blocklist&blocklisttype=all"),
        await ask("GET", container),
    ]
    assert {status for status, _ in refused} == {403}, refused
    expired = await clients.blobs.upload_address(
        ARCHIVES_CONTAINER,
        upload.path,
        since=datetime.now(UTC) - timedelta(hours=2),
        until=datetime.now(UTC) - timedelta(seconds=2),
    )
    assert (await put(expired, 0, b"x" * SMALL))[0] == 403


async def test_blocks_of_other_names_and_sizes_are_no_parts(place: Place) -> None:
    clients, upload = in_real_time(place), upload_of(place, b"x" * 2 * SMALL)
    address = await direct_address(clients, upload)
    assert address is not None
    for name, content in (("whatever", b"x" * SMALL), ("00000001", b"too short"), ("00000007", b"x" * SMALL)):
        assert (await put(address, name, content))[0] == 201
    assert await stored_parts(clients, upload) == []


async def test_what_was_put_there_after_the_check_is_not_taken_for_the_file(place: Place) -> None:
    content = place.mbox("one", "two")
    clients, upload = in_real_time(place), upload_of(place, content)
    address = await direct_address(clients, upload)
    assert address is not None
    for number in range(upload.count):
        await put(address, number, content[number * SMALL : (number + 1) * SMALL])
    operation = await join_and_request(clients, upload, "test")
    status, _ = await ask("PUT", address, content + content, **{"x-ms-blob-type": "BlockBlob"})
    assert status == 201
    done = await run_operation(operation, clients)
    assert (done.status, done.archives) == (OperationStatus.FAILED, [])
    assert f"and {len(content)} were sent" in (done.error or "")


async def test_there_is_no_address_unless_the_deployment_says_so(place: Place) -> None:
    upload = upload_of(place, b"x")
    assert place.clients.settings.DIRECT_UPLOADS is False
    assert await direct_address(in_real_time(place, is_on=False), upload) is None
    assert await direct_address(in_real_time(place), upload)


class OfTheApp:
    """A token like Entra ID's for the app's identity. Azurite does not check its signature."""

    async def get_token(self, *_scopes: str, **_: object) -> AccessToken:
        now = int(time.time())
        claims = {
            "aud": "https://storage.azure.com", "iss": "https://sts.windows.net/t/", "oid": "app", "tid": "t",
            "iat": now, "nbf": now - 60, "exp": now + 3600,
        }  # fmt: skip
        written = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
        encoded = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in written]
        return AccessToken(".".join([*encoded, "c2lnbmF0dXJl"]), now + 3600)

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


@contextmanager
def azurite_with_identities(folder: Path) -> Iterator[tuple[str, Path]]:
    """Azurite over TLS, which accepts identities: return its address and authority."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    certificate, key, ca = folder / "cert.pem", folder / "key.pem", folder / "ca.pem"
    issued.cert_chain_pems[0].write_to_path(str(certificate))
    issued.private_key_pem.write_to_path(str(key))
    authority.cert_pem.write_to_path(str(ca))
    options = ("--oauth", "basic", "--cert", str(certificate), "--key", str(key))
    with running_service("storage", *options, data=folder / "storage") as service:
        yield f"{service.addresses['blob']}/{ACCOUNT}", ca


@asynccontextmanager
async def of_an_identity(address: str, authority: Path) -> AsyncIterator[Blobs]:
    client = BlobServiceClient(address, OfTheApp(), connection_verify=str(authority))
    blobs = Blobs(client)
    try:
        await blobs.ensure_container(ARCHIVES_CONTAINER)
        yield blobs
    finally:
        await blobs.close()


async def test_an_app_without_a_key_signs_by_its_identity_and_only_for_tls(tmp_path: Path) -> None:
    """Azurite cannot check this signature, because it knows only the form of earlier versions."""
    with azurite_with_identities(tmp_path) as (account, authority):
        async with of_an_identity(account, authority) as blobs:
            now = datetime.now(UTC)
            address = await blobs.upload_address(
                ARCHIVES_CONTAINER, "incoming/one", since=now, until=now + timedelta(minutes=30)
            )
        assert address.startswith(f"{account}/{ARCHIVES_CONTAINER}/incoming/one?")
        signed = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert (signed["sp"], signed["sr"], signed["spr"]) == ("w", "b", "https")
        assert (signed["skoid"], signed["sktid"], signed["sks"]) == ("app", "t", "b")
        assert datetime.fromisoformat(signed["ske"]) >= datetime.fromisoformat(signed["se"])
        assert datetime.fromisoformat(signed["skt"]) <= datetime.fromisoformat(signed["st"])
