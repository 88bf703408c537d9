"""An index: applies batches, and provides the visible state.

Only one thread writes. Any thread may read: it gets a view, which is immutable.
"""

import logging
import sqlite3
import threading
from collections import deque
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from localcloud.clock import Clock
from localcloud.search.documents import Action, Outcome, plan
from localcloud.search.errors import SearchError
from localcloud.search.schema import Schema
from localcloud.search.segment import Segment
from localcloud.search.snapshot import read_segment, write_segment
from localcloud.search.store import Store, StoredDocument, decode, encode
from localcloud.search.view import View

log = logging.getLogger(__name__)

# A search that started before a write may still read replaced documents.
GRACE_SECONDS = 60.0
MIN_FILE_ROWS = 4096
_REBUILD_ROWS = 2000


@dataclass(eq=False)
class Index:
    number: int
    schema: Schema
    etag: str
    _: KW_ONLY
    store: Store
    folder: Path
    clock: Clock
    delay: float
    dropped: bool = False

    def __post_init__(self) -> None:
        self._latest = View([])
        self._visible = self._latest
        self._coming: deque[tuple[float, View]] = deque()
        self._coming_lock = threading.Lock()
        self._next_rowid = self.store.last_rowid(self.number) + 1
        self._files: dict[int, Path] = {}  # by id() of the segment, which the view keeps alive

    # reading

    def view(self) -> View:
        """Return the state that a search sees: current, or older if there is an indexing delay."""
        with self._coming_lock:
            while self._coming and self._coming[0][0] <= self.clock.now():
                self._visible = self._coming.popleft()[1]
            return self._visible

    def documents(self, rowids: list[int]) -> list[dict[str, Any] | None]:
        """Return documents in the requested order. A very slow reader gets None for a deleted document."""
        try:
            stored = self.store.read(self.number, rowids)
        except sqlite3.OperationalError:
            self._check_dropped()
            raise
        schema = self.schema
        return [
            decode(schema, item.body, item.vectors) if (item := stored.get(rowid)) else None
            for rowid in rowids
        ]

    def _check_dropped(self) -> None:
        if self.dropped:
            raise SearchError(404, f"The index '{self.schema.name}' was deleted.", "ResourceNotFound")

    # writing

    def apply(self, actions: list[Action]) -> list[Outcome]:
        self._check_dropped()
        keys = list(dict.fromkeys(action.key for action in actions if action.error is None))
        current = self.store.current_rowids(self.number, keys)
        outcomes, final = plan(actions, current, self._read_current)
        added = {key: document for key, document in final.items() if document is not None}
        removed = [current[key] for key in final if key in current]
        if added or removed:
            self._commit(added, removed)
        return outcomes

    def _read_current(self, rowid: int) -> dict[str, Any]:
        document = self.documents([rowid])[0]
        if document is None:
            raise LookupError(f"row {rowid} of index {self.schema.name} is missing")
        return document

    def _commit(self, added: dict[str, dict[str, Any]], removed: list[int]) -> None:
        rowids = list(range(self._next_rowid, self._next_rowid + len(added)))
        # Build the segment first, so that documents that cannot be indexed are not stored.
        segment = Segment.build(self.schema, rowids, list(added.values())) if added else None
        stored = [
            StoredDocument(rowid, key, *encode(self.schema, document))
            for rowid, (key, document) in zip(rowids, added.items(), strict=True)
        ]
        now = self.clock.now()
        self.store.write(self.number, stored, removed, now, now - self.delay - GRACE_SECONDS)
        self._next_rowid += len(added)
        self._publish(self._latest.after(segment, np.array(sorted(removed), dtype=np.int64)))
        self._save_segments()

    def _publish(self, view: View) -> None:
        self._latest = view
        if self.delay:
            self._coming.append((self.clock.now() + self.delay, view))
        else:
            self._visible = view

    # segments on disk

    def load(self) -> None:
        """Load the segments on disk, and index the documents that no segment has."""
        live = self.store.live_rowids(self.number)
        parts = []
        missing = live
        for path in sorted(self.folder.glob("*.segment"), key=lambda item: -item.stat().st_size):
            segment = _read_or_none(path)
            mine = np.isin(segment.rowids, missing) if segment else np.zeros(0, dtype=np.bool_)
            if segment is None or not mine.any():
                path.unlink()
                continue
            parts.append((segment, mine))
            missing = np.setdiff1d(missing, segment.rowids[mine], assume_unique=True)
            self._files[id(segment)] = path
        parts.sort(key=lambda part: int(part[0].rowids[0]))
        self._latest = View(parts)
        for start in range(0, len(missing), _REBUILD_ROWS):
            rowids = [int(rowid) for rowid in missing[start : start + _REBUILD_ROWS]]
            documents = [document for document in self.documents(rowids) if document is not None]
            segment = Segment.build(self.schema, rowids, documents)
            self._latest = self._latest.after(segment, np.empty(0, dtype=np.int64))
        self._visible = self._latest

    def _save_segments(self) -> None:
        """Save large segments as files, and delete the files of segments that were merged."""
        current = {id(part.segment): part.segment for part in self._latest.parts}
        for number in [number for number in self._files if number not in current]:
            self._files.pop(number).unlink(missing_ok=True)
        for number, segment in current.items():
            if segment.rows >= MIN_FILE_ROWS and number not in self._files:
                path = self.folder / f"{segment.rowids[0]}-{segment.rowids[-1]}-{self._next_rowid}.segment"
                self._files[number] = path
                try:
                    write_segment(path, segment)
                except OSError as error:  # the documents are safe: only the next start takes longer
                    log.warning("%s could not be written: %s", path, error)


def _read_or_none(path: Path) -> Segment | None:
    try:
        return read_segment(path)
    except (ValueError, OSError, KeyError, TypeError, orjson.JSONDecodeError) as error:
        log.warning("%s is not usable and will be built again: %s", path, error)
        return None
