"""Changes of a digest's state: it is dirty while it was touched more often than it was made."""

from datetime import datetime

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict, Store
from shared.core.errors import ClassifiedError
from shared.core.times import stored_time
from shared.documents.reports import Digest
from shared.pipeline.lifecycle.attempts import error_text

WAITS = "c.touches > c.made AND c.touches > c.working"


async def digest_touched(store: Store, digest_id: str) -> None:
    """Count a touch, unless one is waiting that no refresh has seen. Precondition: its document exists.

    Only the primary knows: by a replica that is behind, a touch that was seen long ago seems to wait.
    """
    touch = Patch(digest_id, digest_id, increment={"touches": 1})
    await store.patch(Digest, touch, Session(), condition=f"NOT ({WAITS})")


async def digest_started(store: Store, digest: Digest) -> None:
    """Note which touches this refresh has seen. Precondition: it has not looked at any thread yet."""
    seen = {"working": digest.touches}
    await store.patch(Digest, Patch(digest.id, digest.id, set=seen), Session())


async def digest_named(store: Store, digest: Digest, summary_id: str | None, session: Session) -> bool:
    """Say which summary is current; None where there is nothing to say. False where a later refresh has.

    Precondition: the summary is stored, and no refresh that has seen more touches has named one. So a worker
    that stood still cannot put an old digest in the place of a newer one.
    """
    named = Patch(digest.id, digest.id, set={"named": digest.touches, "summary_id": summary_id})
    earlier = f"NOT IS_DEFINED(c.named) OR c.named <= {digest.touches:d}"
    return await store.patch(Digest, named, session, condition=earlier) is not Conflict.CONFLICT


async def digest_made(store: Store, digest: Digest) -> None:
    """Precondition: its summary is named and announced, or there is nothing to say.

    It stays dirty where it was touched since the refresh started.
    """
    done = Patch(digest.id, digest.id, set={"made": digest.touches, "lastError": None})
    await store.patch(Digest, done, Session(), condition=f"c.made <= {digest.touches:d}")


async def digest_failed(store: Store, digest_id: str, failure: ClassifiedError, now: datetime) -> None:
    """Its turn comes again after all others': the document that was written last is last in line.

    Also where a later refresh made it meanwhile: what this one wrote last may still arrive, and undo it.
    """
    state = {"lastError": error_text(failure), "lastAttemptTime": stored_time(now)}
    patch = Patch(digest_id, digest_id, set=state, increment={"attemptCount": 1})
    await store.patch(Digest, patch, Session())
    again = Patch(digest_id, digest_id, increment={"touches": 1})
    await store.patch(Digest, again, Session(), condition="c.touches <= c.made")
