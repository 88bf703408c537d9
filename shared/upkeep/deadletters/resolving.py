"""Takes dead letters out whose work is done by now: on record, and archived as by a purge."""

from shared.clients.connections import Clients
from shared.documents.records import Audit
from shared.pipeline.topology import QUEUES
from shared.upkeep.audit import Actor
from shared.upkeep.deadletters.actions import RESOLVE
from shared.upkeep.deadletters.operations import request_operation, run_operation
from shared.upkeep.deadletters.selection import LetterSelection, choose


async def resolve_satisfied(clients: Clients, actor: Actor) -> Audit | None:
    """The operation's record; None where there was nothing to resolve."""
    selection = LetterSelection(queues=list(QUEUES), satisfied=True)
    if not await choose(clients, selection):
        return None
    audit = await request_operation(clients, RESOLVE, selection.shown(), actor)
    return await run_operation(clients, audit.id, patience=0, known=audit)
