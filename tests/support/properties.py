"""Settings of property tests: the same examples every time, without a deadline for busy machines."""

from hypothesis import settings

__all__ = ["STEADY"]

STEADY = settings(derandomize=True, deadline=None, max_examples=100)
