"""Every error that Webloom raises on purpose.

WebloomError
├── SettingsError            a setting is missing or wrong; names the variable
├── UrlRefused               a URL that will never be fetched: its form, or where it points
├── BadCursor                a page cursor that this store did not issue
├── QueueFull                the queue holds as many ready messages as it may
├── BackendRefused           a server answers, but not as Webloom needs it; a person has to act
├── Unavailable              a dependency does not answer now; trying again later can help
│   ├── BrokerUnavailable
│   │   └── BrokerFull       its queues are in a database that is full
│   ├── StoreUnavailable
│   │   └── StoreFull        it answers and can be read, but there is no room to write
│   └── ResourcesExhausted   this machine has run out of descriptors, ports, processes or memory
├── AttemptFailed            says whether to try again
│   ├── FetchFailed          a fetch ended without a usable response
│   │   └── NotConnected     there is no connection to the host on that port, or not a secure one
│   └── NotSent              a notification was not delivered
├── FeedRefused              a feed's settings are wrong; names the setting
├── FeedExists               a URL is a feed already; names the feed
├── FeedBusy                 a feed is being imported, so this must wait
├── FeedUnreadable           what was fetched is not a feed, or is refused
├── WatchRefused             a watch's settings are wrong; names the setting
├── EditOvertaken            it was edited since it was read
├── BulkRefused              an action on many items is wrong for all of them
│   └── BulkGrown            a filter finds more items than were expected
├── EventRefused             what was sent to `storage-agent` can't be stored
├── DumpRefused              a dump that can't be loaded: damaged, truncated, or something else
├── RestoreBusy              a dump is being restored, or the restore of another has not ended
├── StorageFull              the budget is used up, and nothing is left to prune
└── PageUnreadable           what was fetched can't be read as a page
"""

from __future__ import annotations

from typing import NamedTuple


class Exhausted(NamedTuple):
    """Something has run out."""

    what: str  # a clause without a capital letter and a full stop, as is the remedy
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: {self.remedy}"


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
    """Wrong credentials, version or configuration: trying again does not help. The text says what
    is wrong, where, and what to do, and holds no password."""


class Unavailable(WebloomError):
    pass


class BrokerUnavailable(Unavailable):
    pass


class BrokerFull(BrokerUnavailable):
    """The text is that of StoreFull."""


class StoreUnavailable(Unavailable):
    pass


class StoreFull(StoreUnavailable):
    def __init__(self, exhausted: Exhausted) -> None:
        super().__init__(str(exhausted))
        self.exhausted = exhausted


class ResourcesExhausted(Unavailable):
    """Whatever was tried is retried later."""

    def __init__(self, exhausted: Exhausted) -> None:
        super().__init__(str(exhausted))
        self.exhausted = exhausted


class AttemptFailed(WebloomError):
    def __init__(self, *, reason: str, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after  # seconds that the server asks for


class FetchFailed(AttemptFailed):
    """`reason` is one sentence for the person who asked for the URL."""


class NotConnected(FetchFailed):
    """The name was resolved and the gate had no objection. Another scheme or port may do better."""


class NotSent(AttemptFailed):
    """`reason` is one sentence for the watch's owner; it holds nothing of the target's URL."""


class FeedRefused(WebloomError):
    pass


class FeedExists(WebloomError):
    """The text says which feed has the URL."""

    def __init__(self, *, feed_id: str, name: str) -> None:
        super().__init__(f"this URL is a feed already: {name!r}, {feed_id}")
        self.feed_id = feed_id


class FeedBusy(WebloomError):
    pass


class FeedUnreadable(WebloomError):
    """The text is one sentence for the person who added the feed."""


class BulkRefused(WebloomError):
    pass


class EditOvertaken(WebloomError):
    pass


class BulkGrown(BulkRefused):
    """The text is one sentence for the person who saw fewer."""


class WatchRefused(WebloomError):
    pass


class EventRefused(WebloomError):
    """The text is one sentence for the sender of the event."""


class DumpRefused(WebloomError):
    pass


class RestoreBusy(WebloomError):
    pass


class StorageFull(WebloomError):
    """The text says what is full and what to do."""


class PageUnreadable(WebloomError):
    """The text is one sentence for the person who watches the page."""
