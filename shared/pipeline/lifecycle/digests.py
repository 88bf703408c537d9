"""Changes of a digest's state: it is dirty while it was touched more often than it was made."""

from datetime import datetime

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.errors import ClassifiedError
from shared.core.times import stored_time
from shared.documents.digests import Digest
from shared.pipeline.lifecycle.attempts import error_text


async def digest_touched(store: Store, digest_id: str) -> None:
    """Precondition: its document exists, and no touch is waiting that no refresh has seen."""
    await store.patch(Digest, Patch(digest_id, digest_id, increment={"touches": 1}), Session())


async def digest_started(store: Store, digest: Digest) -> None:
    """Note which touches this refresh has seen. Precondition: it has not looked at any thread yet."""
    seen = {"working": digest.touches}
    await store.patch(Digest, Patch(digest.id, digest.id, set=seen), Session())


async def digest_made(store: Store, digest: Digest, summary_id: str | None) -> None:
    """Precondition: its summary is stored and announced, or there is nothing to say (None).

    It stays dirty where it was touched since the refresh started.
    """
    done = {"made": digest.touches, "summary_id": summary_id, "lastError": None}
    await store.patch(Digest, Patch(digest.id, digest.id, set=done), Session())


async def digest_failed(store: Store, digest_id: str, failure: ClassifiedError, now: datetime) -> None:
    """Its turn comes again after all others': the document that was written last is last in line."""
    state = {"lastError": error_text(failure), "lastAttemptTime": stored_time(now)}
    patch = Patch(digest_id, digest_id, set=state, increment={"attemptCount": 1})
    await store.patch(Digest, patch, Session())
