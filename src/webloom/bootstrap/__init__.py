"""Settings -> adapters -> use cases: the only wiring there is.

connections.py: open_services, open_copy
  +-- backends.py ---- sqlite.py, mongodb.py, brokers.py: a backend for an address
  +-- services.py ---- use_cases.py: what the entry points call
                         +-- network.py: the way out of the process
"""

from webloom.bootstrap.brokers import queue_limits
from webloom.bootstrap.connections import open_copy, open_services
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

__all__ = [
    "Services",
    "build_overview",
    "feed_reader",
    "http_downloader",
    "http_fetcher",
    "network_policy",
    "open_check_page",
    "open_copy",
    "open_notifications",
    "open_preview_feed",
    "open_preview_page",
    "open_run_import",
    "open_services",
    "page_downloader",
    "page_reader",
    "places_of",
    "queue_limits",
    "run_watches",
    "sampler",
    "spool_room",
]
