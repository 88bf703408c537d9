"""The whole app in the dev host on the local cloud, after the sample archives are processed."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.reports import Digest
from shared.operations.provisioning import provision
from shared.settings.app import Settings
from shared.summaries.digest_scopes import parse_scope
from shared.summarization.digests import refresh_due
from tests.support.cloud import AppCloud, servicebus, servicebus_connection, wait_for
from tests.support.host import Host, running_host
from tests.support.services import ROOT, RunningService
from tools.run_archives.client import definitions_at

UNAVAILABLE = 503
SAMPLES = {path.stem: path for path in sorted((ROOT / "samples").glob("*.mbox"))}


@dataclass
class Site:
    host: Host
    settings: Settings
    environ: dict[str, str]
    bus: RunningService
    archives: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)  # the operator's headers, if the site is private

    @property
    def url(self) -> str:
        return self.host.url

    def json(self, path: str) -> Any:
        answer = self.host.get(path, **self.headers)
        assert answer.status == 200, f"{path}: {answer.status} {answer.text[:500]}"
        return answer.json()

    def upload(self, source: str, content: bytes) -> str:
        path = f"/api/archives?source={source}&filename={source}.mbox"
        answer = self.host.ask("POST", path, content, 20, **self.headers)
        assert answer.status in {200, 202}, answer.text
        self.archives[source] = answer.json()["archive_id"]
        return self.archives[source]

    def wait_until_reported(self, archive_id: str, seconds: float = 90) -> None:
        def complete() -> bool:
            answer = self.host.get(f"/api/archives/{archive_id}", **self.headers)
            if answer.status == UNAVAILABLE:
                return False  # the machine is busy
            progress = answer.json()["progress"]
            assert not progress["failed"], progress
            return bool(progress["complete"])

        wait_for(complete, seconds=seconds, what=f"the end of archive {archive_id}")

    def make_digests(self) -> None:
        """Make digests as the timer does, at a chosen moment, and wait for their reports."""

        async def make() -> list[str]:
            connected = await Clients.connect(self.settings)
            try:
                due = await refresh_due(connected, datetime.now(UTC))
                keys = [parse_scope(scope).id for scope in due]
                found = await connected.store.find_many(Digest, keys, Session())
                # A month without a settled thread has no consensus digest.
                return [digest.scope for digest in found.values() if digest.summary_id]
            finally:
                await connected.close()

        made = asyncio.run(make())

        def published() -> bool:
            found = [
                item for item in self.json("/api/reports?limit=200")["items"] if item["thread_id"] is None
            ]
            return {digest["scope"] for digest in found} >= set(made)

        wait_for(published, seconds=60, what="the digests' reports")

    def thread(self, subject: str) -> dict[str, Any]:
        """Return the thread of the samples with this text in its subject."""
        found = [
            item
            for name in SAMPLES
            for item in self.json(f"/api/threads?limit=200&source={name}")["items"]
            if subject in item["subject"]
        ]
        assert len(found) == 1, (subject, [thread["subject"] for thread in found])
        return dict(found[0])


def environment(cloud: AppCloud, bus: RunningService, settings: Settings) -> dict[str, str]:
    secret = {
        name: value.get_secret_value() for name, value in settings if hasattr(value, "get_secret_value")
    }
    # An empty value unsets a variable that another host of these tests may have set.
    environ = {name: "" if value is None else str(value) for name, value in settings} | secret
    return environ | {
        "SERVICEBUS_CONNECTION": servicebus_connection(bus),
        "AzureWebJobsStorage": cloud.storage_connection,
        "AzureWebJobsDisableHomepage": "true",
        "AzureWebJobs.housekeeping.Disabled": "true",
    }


@contextmanager
def empty_site(cloud: AppCloud, **more: str) -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="site-") as name:
        folder = Path(name)
        with servicebus(folder) as bus:
            settings = cloud.settings(bus, SERVICEBUS_ADMIN_ENDPOINT=bus.addresses["admin"], **more)
            with ThreadPoolExecutor(1) as apart:  # a test's own loop may be running here
                apart.submit(asyncio.run, provision(settings)).result()
            environ = environment(cloud, bus, settings)
            with running_host(ROOT, folder / "host", **environ) as host:
                yield Site(host, settings, environ, bus)


@contextmanager
def sample_site(cloud: AppCloud) -> Iterator[Site]:
    """Start a site with the samples, each a list of its own, all reported."""
    with empty_site(cloud) as site:
        for source in definitions_at(ROOT / "samples"):
            assert site.host.ask("POST", "/api/sources", json.dumps(source)).status == 201
        for name, path in SAMPLES.items():
            site.upload(name, path.read_bytes())
        for archive_id in list(site.archives.values()):
            site.wait_until_reported(archive_id)
        site.make_digests()
        yield site
