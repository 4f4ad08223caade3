"""What the gate refuses is counted whole and logged in bounds."""

from __future__ import annotations

import asyncio
import logging

import pytest

from webloom.adapters.refusal_log import RefusalLog
from webloom.domain.network_policy import Refusal, RefusalReason
from webloom.entrypoints.log_lines import LineFormatter

REFUSAL = Refusal(reason=RefusalReason.NOT_PUBLIC, detail="10.0.0.1 is a private address")


def note(refusals: RefusalLog, host: str = "shop.test") -> None:
    refusals.note(REFUSAL, host=host, address="10.0.0.1", port=80)


async def test_a_refusal_is_logged_with_details_that_the_caller_must_not_see(
    caplog: pytest.LogCaptureFixture,
) -> None:
    note(RefusalLog())
    [line] = [LineFormatter().format(record) for record in caplog.records]
    assert 'host=shop.test address=10.0.0.1 port=80 reason=not-public detail="10.0.0.1' in line


async def test_a_flood_is_summarised_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    refusals = RefusalLog(most_lines=3, seconds=0.05)
    for _ in range(1000):
        note(refusals)
    assert refusals.counts()["not-public"] == 1000
    assert len(caplog.records) == 3
    while len(caplog.records) == 3:  # noqa: ASYNC110 - waits for a timer
        await asyncio.sleep(0.01)
    assert vars(caplog.records[3])["connections"] == 997
    note(refusals)  # and the next is logged again
    assert len(caplog.records) == 5


async def test_a_host_forges_no_line(caplog: pytest.LogCaptureFixture) -> None:
    note(RefusalLog(), host="a\r\n2026 info\x1b[31m forged")
    [line] = [LineFormatter().format(record) for record in caplog.records]
    assert line.isprintable()
    assert caplog.records[0].levelno == logging.WARNING
