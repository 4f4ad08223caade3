from __future__ import annotations

from webloom.domain.errors import NotSent
from webloom.domain.sending import Lane
from webloom.domain.watch import Target
from webloom.ports.notifier import NotificationMessage


class FakeNotifier:
    """A Notifier whose targets take every message, unless a test wants them to fail."""

    def __init__(self) -> None:
        self.attempts: list[tuple[str, NotificationMessage]] = []  # by the target's URL
        self.sent: list[tuple[str, NotificationMessage]] = []  # those that were taken
        self.failures: dict[str, list[NotSent]] = {}  # of a target's next attempts

    async def send(self, target: Target, message: NotificationMessage) -> None:
        self.attempts.append((target.url, message))
        if failures := self.failures.get(target.url):
            raise failures.pop(0)
        self.sent.append((target.url, message))

    def lane(self, target_url: str) -> Lane:
        return Lane(name="fake", limit=8, destination=target_url)
