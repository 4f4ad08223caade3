"""The form of a watch places the API's errors by their text: its tests use the texts of today."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from fakes.clock import FakeClock
from webloom.adapters.cron import next_match
from webloom.adapters.sqlite.database import Database
from webloom.adapters.sqlite.pages import SqlitePages
from webloom.adapters.sqlite.watches import SqliteWatches
from webloom.application.watch.manage_watches import ManageWatches
from webloom.domain.errors import WatchRefused
from webloom.domain.retention import Retention
from webloom.entrypoints.api.watch_schemas import AddWatchBody, config_of
from webloom.parsing.target_url import shown_target
from webloom.parsing.web_url import normalise

ROWS = Path(__file__).parents[2] / "admin/checks/unit/watch-errors.json"


@pytest.mark.parametrize("row", json.loads(ROWS.read_text()), ids=lambda row: row["message"])
async def test_the_ui_is_tested_with_what_the_api_says(
    row: dict[str, Any], database: Database, clock: FakeClock
) -> None:
    manage = ManageWatches(
        store=SqliteWatches(database, retention=Retention()),
        pages=SqlitePages(database, retention=Retention(), budget=1 << 40),
        clock=clock,
        cron=next_match,
        check=normalise,
        check_target=lambda url: None,
        shown_target=shown_target,
        usual_minutes=30.0,
    )
    given = config_of(convert({"urls": ["https://shop.test/"]} | row["given"], AddWatchBody))
    with pytest.raises(WatchRefused) as refused:
        await manage.add(given.pop("urls"), **given)
    assert str(refused.value) == row["message"]
