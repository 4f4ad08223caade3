"""Settings -> adapters -> use cases: the only wiring there is.

connections.py: open_services, open_whole, open_copy
  +-- backends.py ---- sqlite.py, mongodb.py, brokers.py: a backend for an address
  +-- services.py ---- use_cases.py: what the entry points call
                         +-- network.py: the way out of the process
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webloom.adapters.cron import next_match
    from webloom.bootstrap.brokers import queue_limits
    from webloom.bootstrap.connections import open_copy, open_services, open_whole
    from webloom.bootstrap.network import (
        feed_reader,
        http_downloader,
        http_fetcher,
        network_policy,
        page_downloader,
        page_reader,
        spool_room,
    )
    from webloom.bootstrap.places import places_of
    from webloom.bootstrap.services import Services
    from webloom.bootstrap.use_cases import (
        build_overview,
        open_check_page,
        open_notifications,
        open_preview_feed,
        open_preview_page,
        open_run_import,
        run_watches,
        sampler,
    )

# Light ones first.
_MODULES = ("network", "places", "brokers", "services", "connections", "use_cases")

__all__ = [
    "Services",
    "build_overview",
    "feed_reader",
    "http_downloader",
    "http_fetcher",
    "network_policy",
    "next_match",
    "open_check_page",
    "open_copy",
    "open_notifications",
    "open_preview_feed",
    "open_preview_page",
    "open_run_import",
    "open_services",
    "open_whole",
    "page_downloader",
    "page_reader",
    "places_of",
    "queue_limits",
    "run_watches",
    "sampler",
    "spool_room",
]


def __getattr__(name: str) -> Any:
    """Imports what is asked for and little more: `webloom fetch` needs no database."""
    for module in _MODULES if name in __all__ else ():
        found = getattr(import_module(f"{__name__}.{module}"), name, None)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
