"""Liveness is separate from readiness, which is reported for each dependency."""

import shutil
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from shared.azure.connections import Clients
from shared.core.errors import EncoderStartError
from shared.embedding.factory import embedder
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER, Manifest
from shared.operations.oversight import dependencies
from shared.operations.oversight.dependencies import DiskFullError, check_dependencies, check_disks
from shared.operations.provisioning import provision
from tests.support.cloud import AppCloud
from tests.support.services import RunningService
from tests.web.site import Site

NAMES = {"settings", "model", "disk", "cosmos", "servicebus", "search", "blobs"}


def test_an_app_that_can_work_says_so_of_each_dependency(site: Site) -> None:
    assert site.json("/api/health/live") == {"status": "alive"}
    health = site.json("/api/health")
    assert health["status"] == "ok"
    assert set(health["dependencies"]) == NAMES
    assert all(dependency["ok"] for dependency in health["dependencies"].values())


async def checks(
    cloud: AppCloud, bus: RunningService, *, made: bool, **settings: str
) -> dict[str, str | None]:
    given = cloud.settings(bus, **settings)
    if made:
        await provision(
            cloud.settings(
                bus,
                **{**settings, "COSMOS_DATABASE": given.COSMOS_DATABASE, "SEARCH_INDEX": given.SEARCH_INDEX},
            )
        )
    clients = await Clients.connect(given)
    try:
        found = await check_dependencies(clients)
    finally:
        await clients.close()
    return {name: check.says for name, check in found.items()}


async def test_a_model_folder_that_is_missing_is_not_ok(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path
) -> None:
    says = await checks(cloud, bus_service, made=True, EMBEDDING_MODEL_PATH=str(tmp_path / "nothing"))
    assert (says["model"] or "").startswith(f"there is no model in {tmp_path / 'nothing'}; make it with")
    assert [name for name, said in says.items() if said] == ["model"]


@pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model")
async def test_a_model_that_computes_wrong_vectors_is_not_ok_until_it_starts(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path
) -> None:
    folder = tmp_path / "all-MiniLM-L6-v2"
    shutil.copytree(DEFAULT_FOLDER, folder)
    manifest = Manifest.read(folder)
    replace(manifest, probe_vector=[-value for value in manifest.probe_vector]).write(folder)
    clients = await Clients.connect(cloud.settings(bus_service, EMBEDDING_MODEL_PATH=str(folder)))
    try:
        with pytest.raises(EncoderStartError):
            await embedder(clients)
        says = (await check_dependencies(clients))["model"].says or ""
        assert "gives wrong vectors on this processor (cosine -" in says
        assert "--fp32 --out FOLDER" in says
        manifest.write(folder)
        await embedder(clients)
        assert (await check_dependencies(clients))["model"].ok
    finally:
        await clients.close()


def unused_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


@pytest.mark.parametrize(
    ("setting", "address", "name", "service"),
    [
        ("COSMOS_ENDPOINT", "http://127.0.0.1:{}", "cosmos", "Cosmos DB"),
        ("SEARCH_ENDPOINT", "https://127.0.0.1:{}", "search", "AI Search"),
        (
            "SERVICEBUS_CONNECTION",
            "Endpoint=sb://127.0.0.1:{};SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true;",
            "servicebus",
            "Service Bus",
        ),
        (
            "STORAGE_CONNECTION",
            "AccountName=devstoreaccount1;AccountKey=bm9uZQ==;BlobEndpoint=http://127.0.0.1:{}/devstoreaccount1;",
            "blobs",
            "Blob storage",
        ),
    ],
)
@pytest.mark.parametrize("listens", [False, True])
async def test_a_service_that_refuses_and_one_that_hangs_are_told_apart(
    cloud: AppCloud,
    bus_service: RunningService,
    setting: str,
    address: str,
    name: str,
    service: str,
    *,
    listens: bool,
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(100)
        port = silent.getsockname()[1] if listens else unused_port()
        clients = await Clients.connect(
            cloud.settings(bus_service, **{setting: address.format(port), "REQUEST_SECONDS": "0.5"})
        )
        try:
            says = (await check_dependencies(clients))[name].says or ""
        finally:
            await clients.close()
    expected = (
        f"{service} did not answer within"
        if listens
        else f"{service} refuses connections at 127.0.0.1:{port}"
    )
    assert says.startswith(expected)


def test_a_full_disk_is_called_one(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = cloud.settings(bus_service)
    check_disks(settings)
    monkeypatch.setattr(dependencies, "LEAST_FREE_BYTES", 2**62)
    with pytest.raises(DiskFullError, match=r"is full: .* MB are free"):
        check_disks(settings)


async def test_who_is_not_the_app_asks_it_and_names_it_when_it_is_gone(
    cloud: AppCloud, bus_service: RunningService, site: Site
) -> None:
    for address, says in (
        (site.url, None),
        (f"http://127.0.0.1:{unused_port()}", "does not answer: is it running?"),
    ):
        clients = await Clients.connect(cloud.settings(bus_service, FUNCTIONS_URL=address))
        try:
            found = await check_dependencies(clients, is_app=False)
        finally:
            await clients.close()
        assert set(found) == {"cosmos", "servicebus", "search", "blobs", "app"}
        assert (found["app"].says is None) if says is None else says in (found["app"].says or "")


async def test_what_was_not_made_is_named_with_what_to_do(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    says = await checks(cloud, bus_service, made=False)
    assert (says["search"] or "").startswith("the index ")
    assert (says["search"] or "").endswith("`python -m shared.operations.provisioning`")
    assert "\n" not in (says["search"] or "")
    assert says["cosmos"]


async def test_an_index_for_vectors_of_another_length_is_not_ok(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    given = cloud.settings(bus_service)
    clients = await Clients.connect(given)
    try:
        await clients.ensure_containers()
        await clients.index.versions.ensure(8)
        found = await check_dependencies(clients)
    finally:
        await clients.close()
    says = found["search"].says or ""
    assert says.startswith(f"{clients.index.versions.own} takes vectors of 8 numbers, the model gives 384")
    assert "\n" not in says
