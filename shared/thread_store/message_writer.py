"""Write messages and their labels as the committed entries of their ids say.

A message is created, replaced or labeled on the condition that it has not changed since it was read. Then the
version of the source is read at the primary. If another worker has committed since, all messages are compared
once more. So the worker that commits last also compares last.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, RawDocument, Session
from shared.core.errors import TransientError
from shared.core.ids import message_entry_id
from shared.core.times import stored_time
from shared.models.queries.threads import COPIES_ELSEWHERE, STORED_COPIES, STORED_LABELS
from shared.models.threads import Message
from shared.pipeline.state.attempts import RESET_ATTEMPTS
from shared.pipeline.state.threads import raise_revisions
from shared.thread_store.entries import Row
from shared.thread_store.message_documents import IncomingMessage, provenance, raw_message
from shared.thread_store.source_state import SourceState

MAX_ROUNDS = 20


class MessagesChangedError(TransientError):
    """Messages changed at every attempt to write them as the threads of their source say."""


@dataclass
class _Writes:
    created: list[RawDocument] = field(default_factory=list)
    replaced: list[RawDocument] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    orphans: list[tuple[str, str]] = field(default_factory=list)
    """Messages that no archive has any more, and their ETags."""
    changed: set[str] = field(default_factory=set)
    """Threads with a message that gets other content, or other conflicts."""
    overtaken: set[str] = field(default_factory=set)
    """Keys of messages whose labels have a later version of the source than the version that was read."""


class MessageWriter:
    def __init__(
        self, clients: Clients, state: SourceState, session: Session, *, labels_chunks: bool = False
    ) -> None:
        """`labels_chunks`: the caller updates the archives of chunks itself, so that no stage has to."""
        self._clients, self._store = clients, clients.store
        self._state, self._session = state, session
        self._passed_on = {"thread_id", "conflicts"} | (set() if labels_chunks else {"archive_ids"})
        self.homes: dict[str, str] = {}
        """The thread of each message that was written, by its key."""
        self.cross_posted: set[str] = set()
        """Keys of messages that were created with copies in other sources."""
        self._has_written = False

    async def write(self, keys: Collection[str], incoming: Mapping[str, IncomingMessage]) -> None:
        """Write the messages of `incoming`, by key, and the labels of the others.

        A round over all keys that finds nothing to write is the last. A later commit does its own round.
        """
        pending = set(keys)
        for _ in range(MAX_ROUNDS):
            if pending:
                is_last = pending == set(keys)
                self._has_written = False
                pending = await self._write_once(sorted(pending), incoming)
                if is_last and not pending and not self._has_written:
                    return
            if pending:
                await self._store.refresh(Message, self._session)
            if not await self._state.is_unchanged():
                await self._state.read()
                pending = set(keys)
            elif not pending:
                return
        raise MessagesChangedError

    async def _write_once(self, keys: Sequence[str], incoming: Mapping[str, IncomingMessage]) -> set[str]:
        """Write once, and return the keys that have to be compared again."""
        state = self._state
        ids = {key: message_entry_id(key) for key in keys}
        await state.need(ids.values())
        entries = {key: entry for key, id_ in ids.items() if (entry := state.entries[id_]) is not None}
        homes = await state.homes({entry["message_id"] for entry in entries.values()})
        rows, elsewhere = await self._stored(keys, incoming)
        writes = _Writes()
        for key in keys:
            entry, row = entries.get(key), rows.get(key)
            home = homes.get(entry["message_id"]) if entry is not None else None
            if entry is None or not entry["archives"]:
                writes.orphans += [(key, row["_etag"])] if row is not None else []
            elif home is not None:
                self.homes[key] = home
                mail = incoming.get(key)
                others = elsewhere.get(mail.message.document["id"], []) if mail is not None else []
                self._decide(writes, entry, home, row, mail, others)
        return await self._perform(writes)

    def _decide(
        self,
        writes: _Writes,
        entry: Row,
        home: str,
        row: Row | None,
        mail: IncomingMessage | None,
        others: Sequence[Row],
    ) -> None:
        state, now = self._state, stored_time(self._clients.runtime.now())
        copies, archives = entry["copies"], entry["archives"]
        version = {"label_version": state.version}
        if row is None:
            if mail is not None:
                labels = provenance(state.source, copies, archives, others)
                text = {"text_version": state.version}
                writes.created.append(raw_message(mail, home, now, {**labels, **version, **text}))
                self.cross_posted |= {mail.key} if others else set()
            return
        if row.get("label_version", 0) > state.version:
            # Only this worker has the text of its mail, so it compares again with the later version.
            writes.overtaken.add(row["id"])
            return
        labels = provenance(state.source, copies, archives, row["elsewhere"])
        if mail is not None and mail.is_first(copies) and row["variant"] != copies[0]["variant"]:
            text = {"text_version": max(row["text_version"] + 1, state.version), "replaced": True}
            labels |= {**version, **text}
            writes.replaced.append(raw_message(mail, home, row["created_at"], labels, row["_etag"]))
            writes.changed |= {row["thread_id"], home}
            return
        changed = {name: value for name, value in labels.items() if value != row[name]}
        if row["thread_id"] != home:
            changed["thread_id"] = home
        if not changed:
            return
        writes.patches.append(Patch(row["id"], set={**changed, **version}, etag=row["_etag"]))
        if "conflicts" in changed:
            writes.changed.add(home)
        if not changed.keys().isdisjoint(self._passed_on):
            # Pending, so that its chunks get its archives and thread even if the event is lost.
            writes.patches.append(Patch(row["id"], set=RESET_ATTEMPTS))

    async def _perform(self, writes: _Writes) -> set[str]:
        store, session = self._store, self._session
        self._has_written = bool(writes.created or writes.replaced or writes.patches or writes.orphans)
        created = await store.create_missing(writes.created, session)
        refused = writes.overtaken | ({document.id for document in writes.created} - created)
        await raise_revisions(store, sorted(writes.changed), session)
        refused |= await store.patch_all(Message, writes.patches, session)
        for document in writes.replaced:
            if await store.write_all([document], session) is not None:
                refused.add(document.id)
        for key, etag in writes.orphans:
            if not await store.delete(Message, key, session, etag=etag):
                refused.add(key)
        return refused

    async def _stored(
        self, keys: Sequence[str], incoming: Mapping[str, IncomingMessage]
    ) -> tuple[dict[str, Row], dict[str, list[Row]]]:
        """Return the stored messages by key, and the messages of other sources by their shared post id."""
        posts = sorted({incoming[key].message.document["id"] for key in keys if key in incoming})
        others = [key for key in keys if key not in incoming]
        rows: list[Row] = []
        if posts:
            rows += await self._store.query_by_ids(STORED_COPIES, posts, self._session)
        if others:
            rows += await self._store.query_by_ids(STORED_LABELS, others, self._session)
        own: dict[str, Row] = {}
        elsewhere: dict[str, list[Row]] = {}
        for row in rows:
            if row["source"] == self._state.source:
                own[row["id"]] = row
            else:
                elsewhere.setdefault(row["post_id"], []).append(row)
        return own, elsewhere


async def link_cross_posts(
    clients: Clients, source: str, posts: Mapping[str, str], known: Collection[str], session: Session
) -> dict[str, str]:
    """Link the copies of a message in several sources to each other. `posts`: post id to key.

    `known` has keys of messages that name copies in other sources. These copies may be deleted. If two
    sources store at the same time, the later source sees both copies. Repeats until a query at the primary
    finds nothing to write. Returns messages of other sources that got or lost a conflict, with their threads.
    """
    store, touched = clients.store, dict[str, str]()
    for _ in range(MAX_ROUNDS):
        await store.refresh(Message, session)
        rows = await store.query_by_ids(COPIES_ELSEWHERE, sorted(posts), session, source=source)
        # Earlier rounds count, because a copy that a message names may be deleted since.
        shared = sorted({*known, *(posts[row["post_id"]] for row in rows)})
        known = shared
        if not shared:
            return touched
        rows += await store.query_by_ids(STORED_LABELS, shared, session)
        patches, changed, conflicting = _cross_post_patches(rows)
        if not patches:
            return touched
        await raise_revisions(store, sorted(changed), session)
        await store.patch_all(Message, patches, session)
        touched |= {key: thread for key, thread in conflicting.items() if key not in posts.values()}
    raise MessagesChangedError


def _cross_post_patches(rows: Iterable[Row]) -> tuple[list[Patch], set[str], dict[str, str]]:
    by_post: dict[str, list[Row]] = {}
    for row in rows:
        by_post.setdefault(row["post_id"], []).append(row)
    patches: list[Patch] = []
    conflicting: dict[str, str] = {}
    for group in by_post.values():
        for row in group:
            others = [other for other in group if other["source"] != row["source"]]
            changed = cross_post_changes(row, others)
            if changed:
                patches.append(Patch(row["id"], set=changed, etag=row["_etag"]))
            if "conflicts" in changed:
                conflicting[row["id"]] = row["thread_id"]
    return patches, set(conflicting.values()), conflicting


def cross_post_changes(row: Row, others: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of a message that change because of its copies in other sources."""
    known = provenance(row["source"], row["copies"], row["archive_ids"], [*others])
    return {name: known[name] for name in ("elsewhere", "sources", "conflicts") if known[name] != row[name]}
