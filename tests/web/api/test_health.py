"""Liveness apart from readiness, and readiness by dependency."""

from pathlib import Path

from shared.clients.connections import Clients
from shared.upkeep.oversight.health import check_dependencies
from shared.upkeep.provisioning import provision
from tests.support.cloud import AppCloud
from tests.support.services import RunningService
from tests.web.site import Site

NAMES = {"settings", "model", "cosmos", "servicebus", "search", "blobs"}


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


async def test_what_was_not_made_is_named_with_what_to_do(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    says = await checks(cloud, bus_service, made=False)
    assert (says["search"] or "").startswith("the index ")
    assert (says["search"] or "").endswith("`python -m shared.upkeep.provisioning`")
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
