"""Every error that Webloom raises on purpose.

WebloomError
├── SettingsError            a setting is missing or wrong; names the variable
├── UrlRefused               a URL that will never be fetched: its form, or where it points
├── BadCursor                a page cursor that this store did not hand out
├── QueueFull                the queue holds as many ready messages as it may
├── BackendRefused           a server answers, but not as Webloom needs it; a person has to act
├── Unavailable              a dependency does not answer now; trying again later can help
│   ├── BrokerUnavailable
│   └── StoreUnavailable
├── FetchFailed              a fetch ended without a usable response; says whether to try again
├── FeedRefused              a feed's settings are wrong; names the setting
├── FeedBusy                 a feed is being imported, so that this must wait
└── FeedUnreadable           what was fetched is no feed, or one that is refused
"""

from __future__ import annotations


class WebloomError(Exception):
    """Base of every error in this tree."""


class SettingsError(WebloomError):
    pass


class UrlRefused(WebloomError):
    pass


class BadCursor(WebloomError):
    pass


class QueueFull(WebloomError):
    def __init__(self, queue: str, limit: int) -> None:
        super().__init__(f"{queue} holds {limit} ready messages, which is its limit")
        self.queue = queue
        self.limit = limit


class BackendRefused(WebloomError):
    """Wrong credentials, too old, set up otherwise: trying again does not help. The text says what
    is wrong, where, and what to do, and holds no password."""


class Unavailable(WebloomError):
    pass


class BrokerUnavailable(Unavailable):
    pass


class StoreUnavailable(Unavailable):
    pass


class FetchFailed(WebloomError):
    """`reason` is one sentence for the person who asked for the URL."""

    def __init__(self, *, reason: str, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after  # seconds that the server asks for


class FeedRefused(WebloomError):
    pass


class FeedBusy(WebloomError):
    pass


class FeedUnreadable(WebloomError):
    """The text is one sentence for the person who added the feed."""
