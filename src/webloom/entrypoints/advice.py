"""What to do about a problem, and where the admin UI shows more of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from webloom.application.overview.facts import Facts
from webloom.application.overview.troubles import Kind, Trouble

START_SCHEDULER = "Start one with `webloom scheduler`, or everything with `webloom up`."
MAKE_ROOM = (
    "Raise WEBLOOM_SPOOL_BUDGET if it is used up, or free space on the disk of WEBLOOM_DATA_DIR; "
    "imports continue by themselves."
)

STORAGE_FULL = (
    "full: nothing new is stored of watched pages, and nothing superseded is left to prune. "
    "Raise WEBLOOM_STORAGE_BUDGET, or remove watches and their pages"
)


def storage_problems(facts: Facts) -> Iterator[str]:
    if facts.full is not None:
        yield f"full: {facts.full}"
    if facts.is_full:
        yield STORAGE_FULL


class Advice(NamedTuple):
    """Fields of the trouble are in braces."""

    text: str  # one sentence
    page: str  # of the admin UI


_ADVICE = {
    Kind.BACKEND_DOWN: Advice(
        "Start it, check the network between it and Webloom, or free space on its disk; Webloom "
        "reconnects by itself.",
        "/system",
    ),
    Kind.NO_WORKER: Advice(
        "Start one with `webloom worker`, or everything with `webloom up`.", "/system"
    ),
    Kind.NO_SCHEDULER: Advice(START_SCHEDULER, "/system"),
    Kind.QUEUE_UNSERVED: Advice(
        "Start one with `webloom worker --queue {subject}`, or one for every queue with "
        "`webloom worker`.",
        "/queues/{subject}",
    ),
    Kind.DATABASE_FULL: Advice("{remedy}", "/system"),
    Kind.BUDGET_USED_UP: Advice(
        "Raise WEBLOOM_STORAGE_BUDGET, or remove watches and their pages.", "/system"
    ),
    Kind.RESTORE_RUNNING: Advice("Wait until it is complete.", "/system"),
    Kind.RESTORE_UNFINISHED: Advice(
        "Restore the same file again, or give the restore up.", "/system"
    ),
    Kind.RESOURCES_EXHAUSTED: Advice("{remedy}", "/system"),
    Kind.SPOOL_FULL: Advice(MAKE_ROOM, "/import-history"),
    Kind.QUEUE_FULL: Advice(
        "Wait until workers have caught up, or start more of them.", "/queues/{subject}"
    ),
    Kind.DEAD_LETTERS: Advice(
        "Read why, fix the cause, and put them back; or discard them.", "/queues/{subject}"
    ),
    Kind.FEED_FAILS: Advice(
        "Look at the run, fix the feed's settings if they are the cause, and import it again.",
        "/import-history/{subject}",
    ),
    Kind.MORE_FEEDS_FAIL: Advice("Look through the list of feeds.", "/feeds?state=failing"),
    Kind.TARGET_FAILS: Advice(
        "Check the target in the settings of the watch, and that the service is there.",
        "/watch/{subject}",
    ),
    Kind.MORE_TARGETS_FAIL: Advice(
        "Repair those that are listed one by one; others then take their place.", "/watch"
    ),
    Kind.WATCH_FAILS: Advice(
        "Check that its addresses are right and answer; change or pause the watch if they don't.",
        "/watch/{subject}",
    ),
    Kind.MORE_WATCHES_FAIL: Advice("Look through the list of watches.", "/watch?state=failing"),
    Kind.PAGES_FAIL: Advice("Open one of them to see why.", "/watch?show=pages&outcome=failed"),
}


def advice_on(trouble: Trouble) -> Advice:
    text, page = _ADVICE[trouble.kind]
    if trouble.kind is Kind.FEED_FAILS and not trouble.subject:  # it has no run yet
        page = "/feeds"
    fields = {"subject": trouble.subject, "remedy": trouble.remedy}
    return Advice(text.format(**fields), page.format(**fields))
