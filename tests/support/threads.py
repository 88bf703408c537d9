"""A store of threads that is a dictionary, for tests and benchmarks."""

from collections.abc import Sequence

from shared.domain.threading.assignment import ThreadingResult, ThreadState


class InMemoryThreads:
    """The threads that were applied so far."""

    def __init__(self) -> None:
        self.threads: dict[str, ThreadState] = {}
        self._by_id: dict[str, str] = {}
        self._by_key: dict[str, set[str]] = {}

    def by_message_ids(self, ids: Sequence[str]) -> list[ThreadState]:
        names = {self._by_id[one] for one in ids if one in self._by_id}
        return [self.threads[name] for name in sorted(names)]

    def by_subject_keys(self, keys: Sequence[str]) -> list[ThreadState]:
        names = {name for key in keys for name in self._by_key.get(key, ())}
        return [self.threads[name] for name in sorted(names)]

    def apply(self, result: ThreadingResult) -> None:
        """Store what `assign` found out."""
        for merge in result.merges:
            for entry in self.threads.pop(merge.thread_id).subjects:
                self._by_key[entry.key].discard(merge.thread_id)
        for name, state in result.threads.items():
            self.threads[name] = state
            self._by_id.update(dict.fromkeys(state.nodes, name))
            for entry in state.subjects:
                self._by_key.setdefault(entry.key, set()).add(name)
