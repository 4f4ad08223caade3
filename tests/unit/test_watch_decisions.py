"""What is decided about watches and their runs, without a store."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from webloom.adapters.cron import next_match
from webloom.domain.errors import WatchRefused
from webloom.domain.watch import (
    Metrics,
    Tally,
    Watch,
    external_config,
    next_run,
    refuse_external,
)

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_an_external_watch_has_nothing_to_check_and_is_never_due() -> None:
    config = external_config("their job")
    assert (config.name, config.urls) == ("their job", [])
    assert next_run(config, now=NOW, failures=0, jitter=0.0, next_match=next_match) is None
    watch = Watch(
        watch_id="their job",
        config=config,
        created_at=NOW,
        updated_at=NOW,
        next_run_at=None,
        is_external=True,
    )
    with pytest.raises(WatchRefused, match="another program"):
        refuse_external(watch)


def test_a_run_adds_what_its_tally_says_to_the_metrics() -> None:
    tally = Tally(processed=5, failed=2, changes=3, price_changes=1)
    assert tally.metrics == Metrics(pages_processed=5, changes=3, price_changes=1)
