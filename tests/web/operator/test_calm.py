"""A healthy app that has just started shows nothing to do for an operator."""

import asyncio
from datetime import timedelta

from shared.azure.connections import Clients
from shared.operations.oversight.status import SystemStatus, read_status
from tests.web.site import Site


async def status_as_the_command_reads_it(site: Site, later: timedelta) -> SystemStatus:
    clients = await Clients.connect(site.settings)
    try:
        return await read_status(clients, now=clients.runtime.now() + later)
    finally:
        await clients.close()


def test_after_the_first_archives_all_is_well(site: Site) -> None:
    shown = site.host.get("/operator")
    assert shown.status == 200
    assert "Everything is running" in shown.text
    assert "Action needed" not in shown.text
    assert asyncio.run(status_as_the_command_reads_it(site, timedelta())).troubles == []


def test_an_app_whose_timers_never_ran_is_found_out(site: Site) -> None:
    found = asyncio.run(status_as_the_command_reads_it(site, timedelta(hours=1)))
    assert {trouble.kind for trouble in found.troubles} >= {"no_consumer", "sweep"}
