"""How property tests run here: the same examples every time, on a machine that may be busy."""

from hypothesis import settings

__all__ = ["STEADY"]

STEADY = settings(derandomize=True, deadline=None, max_examples=100)
