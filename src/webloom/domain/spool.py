"""Disk space for feeds while they are read, and what a lack of it means."""

from __future__ import annotations

from dataclasses import dataclass

KNOWN_FOLDER = "known"  # in the spool: what imports learnt about feeds, which saves time
USUAL_BUDGET = 8 << 30
_SHARE_OF_DISK = 20  # 5 %
_MOST_LEFT_FREE = 1 << 30
_LEAST_STEP, _LARGEST_STEP = 64 << 10, 16 << 20
_GROWTH = 2  # of what a download requests, each time it has to start again


@dataclass(frozen=True, kw_only=True, slots=True)
class SpoolLimits:
    budget: int = USUAL_BUDGET  # bytes of the whole spool
    free_space: int | None = None  # bytes of its disk that stay free; None: by the disk's size

    def left_free(self, disk: int) -> int:
        """A small disk keeps 5 % free, a large one 1 GB."""
        if self.free_space is not None:
            return self.free_space
        return min(disk // _SHARE_OF_DISK, _MOST_LEFT_FREE)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpoolUse:
    used: int  # bytes in the spool, including those reserved by downloads in progress
    free: int  # bytes of its disk, without those
    disk: int  # its size


def room_for(use: SpoolUse, limits: SpoolLimits) -> int:
    """Bytes that may be written now; 0 or less: none."""
    return min(limits.budget - use.used, use.free - limits.left_free(use.disk))


def most_of_one(use: SpoolUse, limits: SpoolLimits) -> int:
    """Bytes that a single feed can have at most. Other files on the disk don't count: they may be
    removed some day."""
    return min(limits.budget, use.disk - limits.left_free(use.disk))


def next_request(written: int, most: int) -> int:
    """Bytes that a download needs before it restarts after running out of space: more than it had,
    so that it gets further, and finally the whole spool."""
    return max(1, min(written * _GROWTH, most))


def step(limits: SpoolLimits) -> int:
    """Bytes that a download reserves at a time: few enough for many downloads in a small spool,
    many enough that reserving is rare."""
    return max(_LEAST_STEP, min(_LARGEST_STEP, limits.budget // 64))


def shortage(use: SpoolUse, limits: SpoolLimits, needed: int = 1) -> str | None:
    """Why `needed` bytes can't be written now; None: they can."""
    if use.used + needed > limits.budget:
        return (
            f"the spool takes {shown_bytes(use.used)} of the {shown_bytes(limits.budget)} that it "
            "may have (WEBLOOM_SPOOL_BUDGET)"
        )
    left_free = limits.left_free(use.disk)
    if use.free - needed < left_free:
        return (
            f"the disk of the spool has {shown_bytes(max(0, use.free))} left, and "
            f"{shown_bytes(left_free)} stay free (WEBLOOM_SPOOL_FREE_SPACE)"
        )
    return None


def never_fits(use: SpoolUse, limits: SpoolLimits) -> str:
    """For a feed that needs more than `most_of_one`."""
    most = most_of_one(use, limits)
    why = "WEBLOOM_SPOOL_BUDGET"
    if most < limits.budget:
        why = "the size of its disk, and WEBLOOM_SPOOL_FREE_SPACE"
    return f"the feed is larger than the whole spool may be: {shown_bytes(max(0, most))} ({why})"


def shown_bytes(count: int) -> str:
    for unit, size in (("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= size:
            return f"{round(count / size, 1):g} {unit}"
    return f"{count} bytes"
