"""A budget of tokens, such as one archive may cost."""

from dataclasses import dataclass

__all__ = ["TokenBudget"]


@dataclass
class TokenBudget:
    """Reserve before a call, settle after it: calls that run side by side cannot overspend together."""

    limit: int | None = None
    used: int = 0
    reserved: int = 0

    def reserve(self, tokens: int) -> bool:
        """Set tokens aside; False where the budget does not have them."""
        if self.limit is not None and self.used + self.reserved + tokens > self.limit:
            return False
        self.reserved += tokens
        return True

    def settle(self, reserved: int, used: int) -> None:
        self.reserved -= reserved
        self.used += used
