"""Finds the poison in a batch: what fails together is tried in halves, until it stands alone."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from shared.clients.classify import classify
from shared.core.errors import ClassifiedError, ErrorKind

Item = TypeVar("Item")


@dataclass
class Isolated(Generic[Item]):
    done: list[Item] = field(default_factory=list)
    poison: list[tuple[Item, ClassifiedError]] = field(default_factory=list)


async def isolate_poison(
    items: Sequence[Item], work: Callable[[Sequence[Item]], Awaitable[None]]
) -> Isolated[Item]:
    """Do the work on all items that let it be done.

    Only a permanent failure makes a batch split. A transient one, or a race, is nobody's poison: it goes
    through, so that the whole batch is tried again, and what was done is skipped then.
    """
    isolated: Isolated[Item] = Isolated()
    waiting = [list(items)] if items else []
    while waiting:
        batch = waiting.pop()
        try:
            await work(batch)
        except Exception as error:
            failure = classify(error)
            if failure.kind is not ErrorKind.PERMANENT:
                raise
            if len(batch) == 1:
                isolated.poison.append((batch[0], failure))
            else:
                middle = len(batch) // 2
                waiting += [batch[middle:], batch[:middle]]
        else:
            isolated.done += batch
    return isolated
