from __future__ import annotations

from dataclasses import dataclass

from webloom.ports.change_alerts import ChangeAlerts
from webloom.ports.inbox import Inbox
from webloom.ports.page_history import PageHistory
from webloom.ports.page_storage import PageStorage
from webloom.ports.pages import Pages


@dataclass(frozen=True, kw_only=True, slots=True)
class PageStores:
    """The stores of watched pages, over one backend."""

    pages: Pages
    history: PageHistory
    alerts: ChangeAlerts
    inbox: Inbox
    storage: PageStorage
