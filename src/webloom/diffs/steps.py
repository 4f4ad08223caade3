from __future__ import annotations


class Steps:
    """A budget of work. Unlike a time limit, it gives the same diff every time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0
        self.is_used_up = False  # some work was left undone

    def take(self, wanted: int) -> bool:
        """Whether it may be done; if not, nothing is taken."""
        if self.taken + wanted > self.limit:
            self.is_used_up = True
            return False
        self.taken += wanted
        return True
