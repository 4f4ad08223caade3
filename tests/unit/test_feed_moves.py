"""Where a feed is fetched, and what stays when that changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from webloom.domain.feed import Feed, FeedConfig, UrlTaken, decide_edit

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
OLD, NEW, OTHER = (f"https://{name}.test/feed" for name in ("old", "new", "other"))


def feed(url: str = OLD, moved_to: str | None = None) -> Feed:
    config = FeedConfig(url=url, name="Jobs", moved_to=moved_to)
    return Feed(feed_id=url, config=config, created_at=NOON, updated_at=NOON, next_run_at=None)


MOVES = [
    (feed(), NEW, NEW, "to another URL"),
    (feed(moved_to=NEW), OTHER, OTHER, "on to a third"),
    (feed(moved_to=NEW), OLD, None, "back"),
    (feed(moved_to=NEW), None, None, "back, as if it had never moved"),
    (feed(), OLD, None, "nowhere"),
]


@pytest.mark.parametrize(
    ("before", "wanted", "moved_to"), [row[:3] for row in MOVES], ids=[row[3] for row in MOVES]
)
def test_a_feed_moves_and_its_own_url_stays(
    before: Feed, wanted: str | None, moved_to: str | None
) -> None:
    config = replace(before.config, moved_to=wanted, name="New name")
    decided = decide_edit(before, config, [before])
    assert decided == FeedConfig(url=OLD, name="New name", moved_to=moved_to)
    assert decide_edit(before, replace(config, url=OTHER), [before]) == decided


@pytest.mark.parametrize("holder", [feed(NEW), feed(NEW, OTHER), feed(OTHER, NEW)])
def test_a_feed_does_not_move_to_what_another_one_has(holder: Feed) -> None:
    config = replace(feed().config, moved_to=NEW)
    assert decide_edit(feed(), config, [holder]) == UrlTaken(by=holder)


def test_a_feed_that_stays_where_it_is_can_be_edited_despite_others_at_its_url() -> None:
    here, there = feed(moved_to=NEW), feed(NEW)
    config = replace(here.config, enabled=False)
    assert decide_edit(here, config, [here, there]) == config
