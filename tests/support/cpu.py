"""A bound on CPU time, against input that could run forever."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["within_cpu"]


@contextmanager
def within_cpu(seconds: float) -> Iterator[None]:
    """Fail after this CPU time, even in the middle of a regular expression, because `re` handles signals."""

    def stop(*_: object) -> None:
        raise AssertionError(f"it takes more than {seconds} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
