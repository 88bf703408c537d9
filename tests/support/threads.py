"""A store of threads on a dictionary, for tests and benchmarks."""

from collections.abc import Iterable, Sequence

from shared.mail.models import ParsedMail
from shared.threading.assignment import (
    KnownThreads,
    ThreadingResult,
    ThreadState,
    assign_links,
    links_of,
)


def assign(messages: Iterable[ParsedMail], known: KnownThreads, source: str = "") -> ThreadingResult:
    """Thread messages into the known ones."""
    return assign_links(map(links_of, messages), known, source)


class InMemoryThreads:
    """The threads that were applied."""

    def __init__(self) -> None:
        self.threads: dict[str, ThreadState] = {}
        self._by_id: dict[str, set[str]] = {}
        self._by_key: dict[str, set[str]] = {}

    def by_message_ids(self, ids: Sequence[str]) -> list[ThreadState]:
        return self._found(name for one in ids for name in self._by_id.get(one, ()))

    def by_subject_keys(self, keys: Sequence[str]) -> list[ThreadState]:
        return self._found(name for key in keys for name in self._by_key.get(key, ()))

    def _found(self, names: Iterable[str]) -> list[ThreadState]:
        return [self.threads[name] for name in sorted(set(names)) if name in self.threads]

    def apply(self, result: ThreadingResult) -> None:
        """Store the result of `assign`."""
        for merge in result.merges:
            del self.threads[merge.thread_id]
        for name, state in result.threads.items():
            self.threads[name] = state
            for one in (*state.members, *state.absent()):
                self._by_id.setdefault(one, set()).add(name)
            for entry in state.subjects:
                self._by_key.setdefault(entry.key, set()).add(name)
