"""The locked messages of an entity, and their expiry times."""

import itertools
import os
from collections import OrderedDict
from collections.abc import Iterator

from localcloud.servicebus.errors import LockLost
from localcloud.servicebus.messages import Message

# Lock tokens must be unique within a run and across restarts.
_TOKEN_PREFIX = os.urandom(8)
_token_numbers = itertools.count(1)


def new_lock_token() -> bytes:
    return next(_token_numbers).to_bytes(8, "little") + _TOKEN_PREFIX


class Locks(OrderedDict[bytes, Message]):
    """Locked messages by token.

    All locks of an entity have the same duration, so the oldest expires first.
    """

    def lock(self, message: Message, until: int) -> None:
        token = new_lock_token()
        message.lock, message.locked_until = token, until
        self[token] = message

    def unlock(self, token: bytes) -> Message:
        message = self.pop(token, None)
        if message is None:
            raise LockLost
        message.lock, message.locked_until = None, 0
        return message

    def renew(self, token: bytes, until: int) -> int:
        message = self.get(token)
        if message is None:
            raise LockLost
        message.locked_until = until
        self.move_to_end(token)
        return until

    @property
    def next_expiry(self) -> int | None:
        return next(iter(self.values())).locked_until if self else None

    def expired(self, now: int) -> Iterator[bytes]:
        """Yield the tokens of expired locks.

        The caller must unlock each token before it requests the next.
        """
        while self and next(iter(self.values())).locked_until <= now:
            yield next(iter(self))
