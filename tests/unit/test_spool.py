from __future__ import annotations

import pytest

from webloom.domain.spool import (
    SpoolLimits,
    SpoolUse,
    most_of_one,
    never_fits,
    next_request,
    room_for,
    shortage,
    shown_bytes,
    step,
)

MB, GB, TB = 1 << 20, 1 << 30, 1 << 40
USUAL = SpoolLimits()


def use(used: int = 0, free: int = 50 * GB, disk: int = 100 * GB) -> SpoolUse:
    return SpoolUse(used=used, free=free, disk=disk)


@pytest.mark.parametrize(
    ("disk", "left_free"),
    [(4 * GB, 4 * GB // 20), (20 * GB, GB), (100 * GB, GB), (4 * TB, GB)],
)
def test_a_small_disk_keeps_5_percent_free_and_a_large_one_1_gb(disk: int, left_free: int) -> None:
    assert USUAL.left_free(disk) == left_free
    assert SpoolLimits(free_space=5).left_free(disk) == 5
    assert SpoolLimits(free_space=0).left_free(disk) == 0


def test_there_is_room_up_to_the_budget_and_down_to_the_free_space() -> None:
    assert room_for(use(7 * GB), USUAL) == GB
    assert room_for(use(free=3 * GB), USUAL) == 2 * GB
    assert shortage(use(7 * GB), USUAL, GB) is None
    assert shortage(use(7 * GB), USUAL, GB + 1) == (
        "the spool takes 7 GB of the 8 GB that it may have (WEBLOOM_SPOOL_BUDGET)"
    )
    assert shortage(use(free=GB + 1), USUAL) is None
    assert shortage(use(free=GB), USUAL) == (
        "the disk of the spool has 1 GB left, and 1 GB stay free (WEBLOOM_SPOOL_FREE_SPACE)"
    )


def test_one_feed_can_have_the_budget_or_what_its_disk_can_hold() -> None:
    assert most_of_one(use(7 * GB), USUAL) == 8 * GB
    assert "larger than the whole spool may be: 8 GB (WEBLOOM_SPOOL_BUDGET)" in never_fits(
        use(), USUAL
    )
    small = use(disk=GB, free=0)
    assert most_of_one(small, USUAL) == GB - GB // 20
    assert "the size of its disk, and WEBLOOM_SPOOL_FREE_SPACE" in never_fits(small, USUAL)


def test_what_starts_again_asks_for_more_each_time_and_at_last_for_all() -> None:
    requests = [1]
    while requests[-1] < 8 * GB:
        requests.append(next_request(requests[-1], 8 * GB))
    assert requests == sorted(set(requests))
    assert next_request(8 * GB, 8 * GB) == 8 * GB


@pytest.mark.parametrize(("budget", "bytes_"), [(8 * GB, 16 * MB), (64 * MB, MB), (MB, 64 << 10)])
def test_a_small_spool_is_given_out_in_small_steps(budget: int, bytes_: int) -> None:
    assert step(SpoolLimits(budget=budget)) == bytes_


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 bytes"), (1536, "1.5 KB"), (5 * MB, "5 MB"), (1023 * GB, "1023 GB"), (TB, "1 TB")],
)
def test_sizes_are_shown_shortly(count: int, shown: str) -> None:
    assert shown_bytes(count) == shown
