"""What to do about a problem, and where the admin UI shows more of it."""

from __future__ import annotations

from typing import NamedTuple

from webloom.application.overview.troubles import Kind, Trouble

START_SCHEDULER = "Start one with `webloom scheduler`, or everything with `webloom up`."
MAKE_ROOM = (
    "Raise WEBLOOM_SPOOL_BUDGET if it is used up, or free space on the disk of WEBLOOM_DATA_DIR; "
    "imports go on by themselves."
)

STORAGE_FULL = (
    "full: nothing new is stored of watched pages, and nothing superseded is left to prune. "
    "Raise WEBLOOM_STORAGE_BUDGET, or remove watches and their pages"
)


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
    Kind.MORE_FEEDS_FAIL: Advice("Look through the list of feeds.", "/feeds?show=failing"),
    Kind.WATCH_FAILS: Advice("Look at its last run, which says why.", "/watch/{subject}"),
    Kind.MORE_WATCHES_FAIL: Advice("Look through the list of watches.", "/watch"),
    Kind.PAGES_FAIL: Advice("Open one of them to see why.", "/watch?outcome=failed"),
}


def advice_on(trouble: Trouble) -> Advice:
    text, page = _ADVICE[trouble.kind]
    if trouble.kind is Kind.FEED_FAILS and not trouble.subject:  # it has no run yet
        page = "/feeds"
    fields = {"subject": trouble.subject, "remedy": trouble.remedy}
    return Advice(text.format(**fields), page.format(**fields))
