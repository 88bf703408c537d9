"""A bound on CPU time, for what a stranger could make last for ever."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["within_cpu"]


@contextmanager
def within_cpu(seconds: float) -> Iterator[None]:
    """Fails what takes longer, also in the middle of a regular expression: `re` lets signals through."""

    def stop(*_: object) -> None:
        raise AssertionError(f"it takes more than {seconds} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
