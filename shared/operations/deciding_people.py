"""An operator decides which addresses with the same name belong to one person."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict
from shared.core.errors import PermanentError
from shared.ingestion.source_definitions import MAX_ADDRESSES, MAX_GROUPS, SourceSettings
from shared.models.queries.threads import PARTICIPANTS_OF_SOURCE
from shared.models.sources import Source
from shared.operations.audit import Operator, audited
from shared.operations.correcting import Reason
from shared.reading.linked_thread import SharedName, fold_address, shared_names

MAX_WRITE_ATTEMPTS = 5  # optimistic concurrency: a fetch writes to the same source
ONE_PERSON, SEVERAL_PEOPLE = "aliases", "namesakes"
Groups = list[list[str]]


class UndecidableError(PermanentError):
    """A decision cannot be stored."""


class PeopleDecision(BaseModel):
    model_config = ConfigDict(extra="forbid")

    addresses: Annotated[list[str], Field(min_length=2, max_length=MAX_ADDRESSES)]
    is_one_person: bool
    reason: Reason


async def proposals(clients: Clients, source: str) -> list[SharedName]:
    """Return the names that several addresses of the list use and that have no decision yet."""
    session = Session()
    stored = await _source(clients, source, session)
    rows = clients.store.query(PARTICIPANTS_OF_SOURCE, session, source=source)
    signed = [
        (str(participant["name"]), str(participant["email"]))
        async for row in rows
        for participant in row["participants"]
    ]
    return shared_names(signed, stored.profile)


async def decide(clients: Clients, source: str, decision: PeopleDecision, actor: Operator) -> Source:
    """Store the decision. It replaces earlier decisions about these addresses."""
    session, addresses = Session(), sorted({fold_address(address) for address in decision.addresses})
    verdict = "accept" if decision.is_one_person else "refuse"
    selection = {"source": source, "addresses": addresses, "reason": decision.reason}
    async with audited(clients, f"people.{verdict}", actor, selection) as counts:
        for _ in range(MAX_WRITE_ATTEMPTS):
            stored = await _source(clients, source, session)
            settings = decided(stored.settings, addresses, is_one_person=decision.is_one_person)
            changed = await clients.store.replace(stored.model_copy(update={"settings": settings}), session)
            if not isinstance(changed, Conflict):
                counts["decided"] = 1
                return changed
        raise UndecidableError(f"The source {source} kept changing. Try again.")


def decided(settings: dict[str, Any], addresses: Sequence[str], *, is_one_person: bool) -> dict[str, Any]:
    """Return the settings with the addresses as one group. Other groups stay."""
    wanted = ONE_PERSON if is_one_person else SEVERAL_PEOPLE
    changed: dict[str, Groups] = {}
    for name in (ONE_PERSON, SEVERAL_PEOPLE):
        kept = [
            [address for address in group if fold_address(address) not in addresses]
            for group in settings.get(name, [])
        ]
        changed[name] = [group for group in kept if len(group) > 1]  # a group of one address has no meaning
    changed[wanted] = [*changed[wanted], list(addresses)]
    if len(changed[wanted]) > MAX_GROUPS:
        raise UndecidableError(f"A source has at most {MAX_GROUPS} groups of addresses.")
    SourceSettings.model_validate({**settings, **changed})
    return {**settings, **{name: groups for name, groups in changed.items() if groups or name in settings}}


async def _source(clients: Clients, name: str, session: Session) -> Source:
    found = await clients.store.find(Source, name, session)
    if found is None:
        raise UndecidableError(f"There is no source {name!r}: `source list` lists all sources.")
    return found
