"""Notification addresses are checked once each, in number and off the event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from webloom.application.watch import check_targets
from webloom.application.watch.check_targets import TargetChecks


class Check:
    """Notes what it is asked, and in which thread."""

    def __init__(self) -> None:
        self.requested: list[str] = []
        self.threads: set[int] = set()

    def __call__(self, address: str) -> None:
        self.requested.append(address)
        self.threads.add(threading.get_ident())
        if "bad" in address:
            raise ValueError("it can't be read")


async def test_an_address_is_checked_once() -> None:
    check = Check()
    checks = TargetChecks(check)
    lists = [["a", "b", "a"], ["b", "c"], ["a", "b", "c"]] * 20
    await asyncio.gather(*(checks.refuse_bad(each) for each in lists))
    assert sorted(check.requested) == ["a", "b", "c"]
    assert threading.get_ident() not in check.threads


async def test_one_that_is_bad_is_refused_each_time() -> None:
    check = Check()
    checks = TargetChecks(check)
    for _ in range(3):
        with pytest.raises(ValueError, match="it can't be read"):
            await checks.refuse_bad(["good", "bad"])
    await checks.refuse_bad(["good"])
    assert check.requested == ["good", "bad"]


async def test_different_addresses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_targets, "MOST_DIFFERENT", 3)
    check = Check()
    checks = TargetChecks(check)
    await checks.refuse_bad(["a", "b"])
    with pytest.raises(ValueError, match="more than 3 different addresses"):
        await checks.refuse_bad(["b", "c", "d"])
    await checks.refuse_bad(["a", "c"])
    assert check.requested == ["a", "b", "c"]
