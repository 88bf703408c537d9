"""The delay formulas of every retry in the app; the policies that call them decide whether to retry."""

import random

# Past this exponent every factor above 1 has reached any real cap, and a float power would overflow.
_MAX_EXPONENT = 64


def exponential(base: float, attempt: int, cap: float, *, factor: float = 2.0) -> float:
    """Exponential backoff: base * factor^(attempt - 1), at most `cap`. Attempts count from 1."""
    exponent = min(max(attempt - 1, 0), _MAX_EXPONENT)
    return float(min(base * factor**exponent, cap))


def full_jitter(ceiling: float, source: random.Random) -> float:
    """U(0, ceiling): callers that failed together do not come back together."""
    return source.uniform(0, ceiling)
