from __future__ import annotations


class Steps:
    """How much work may still be done. A clock would give another diff on another day."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0
        self.is_used_up = False  # some work was not done for want of steps

    def take(self, wanted: int) -> bool:
        """Whether it may be done; if not, nothing is taken."""
        if self.taken + wanted > self.limit:
            self.is_used_up = True
            return False
        self.taken += wanted
        return True
