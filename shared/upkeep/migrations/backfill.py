"""Stores what upgrades give: `python -m shared.upkeep.migrations.backfill <container>`.

Documents of an older schema version are upgraded on every read anyway; this makes it last. It can be stopped
and started again at any time: what is done no longer matches, and a document that changes meanwhile is left
to its writer or to the next round.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict, Store
from shared.documents.containers import DOCUMENTS, document_class, read_document
from shared.documents.queries.several_containers import outdated_documents
from shared.settings.app import SettingsError, load_settings

log = logging.getLogger(__name__)


@dataclass
class Backfilled:
    upgraded: int = 0
    changed_meanwhile: int = 0


async def backfill(
    store: Store, container: str, *, batch: int = 100, progress: Callable[[Backfilled], None] | None = None
) -> Backfilled:
    """Upgrade and store every document of the container that is not of the current version."""
    model, done, session = document_class(container), Backfilled(), Session()
    waiting: list[dict[str, object]] = []

    async def flush() -> None:
        results = await asyncio.gather(
            *(store.replace(read_document(model, stored), session) for stored in waiting)
        )
        done.changed_meanwhile += sum(result is Conflict.CONFLICT for result in results)
        done.upgraded += sum(result is not Conflict.CONFLICT for result in results)
        waiting.clear()
        if progress is not None:
            progress(done)

    async for stored in store.query(outdated_documents(container), session, version=model.current_version):
        waiting.append(stored)
        if len(waiting) >= batch:
            await flush()
    await flush()
    return done


async def _run(container: str, batch: int) -> Backfilled:
    clients = await Clients.connect(load_settings())
    try:
        return await backfill(
            clients.store,
            container,
            batch=batch,
            progress=lambda done: log.info("%s: %d upgraded so far", container, done.upgraded),
        )
    finally:
        await clients.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m shared.upkeep.migrations.backfill", description=__doc__)
    parser.add_argument("container", choices=sorted(DOCUMENTS))
    parser.add_argument("--batch", type=int, default=100, help="documents at a time (default: %(default)s)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        done = asyncio.run(_run(options.container, options.batch))
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{done.upgraded} upgraded, {done.changed_meanwhile} changed meanwhile\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
