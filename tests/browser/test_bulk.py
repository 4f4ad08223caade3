"""Actions on many: what they ask, how they are stopped and undone, and what they are refused for.

No worker runs here: what is started or put back stays to be seen.
"""

from __future__ import annotations

import asyncio
import csv
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.error import HTTPError

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from browser.checks import assert_accessible, assert_fits_a_phone
from browser.conftest import Watched, ask
from browser.furnished import FAILING_FEEDS, FEEDS, OTHERS, WATCHES, feed_url, furnished
from e2e.running import Webloom, environment
from timeouts import TIMEOUT_SECONDS
from webloom.bootstrap.connections import open_services
from webloom.domain.page import STORAGE_QUEUE
from webloom.ports.broker import Message
from webloom.settings import load_settings

ENGINES = WATCHES - WATCHES // 100
LETTERS = 2000
IN_FLIGHT = 100  # items of which nothing is known when an action is stopped


@pytest.fixture(scope="module")
def webloom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webloom]:
    with furnished(tmp_path_factory.mktemp("bulk"), "api") as it:
        yield it


def rows(page: Page) -> Locator:
    return page.get_by_role("table").locator("[data-index]")


def open_list(page: Page, path: str, count: str) -> None:
    page.goto(path)
    expect(page.get_by_text(count, exact=True)).to_be_visible()


def select(page: Page, count: int) -> None:
    for index in range(count):
        rows(page).nth(index).get_by_role("checkbox").check()


def select_all(page: Page, count: str) -> None:
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name=f"Select all {count}").click()
    expect(page.get_by_text(f"all {count} selected")).to_be_visible()


def choose(page: Page, action: str, question: str | None = None) -> None:
    """With the question, it is expected and answered."""
    page.get_by_role("button", name=action, exact=True).click()
    dialog = page.get_by_role("dialog", name=question)
    if question is None:
        expect(dialog).to_have_count(0)
    else:
        expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
        dialog.get_by_role("button", name=action, exact=True).click()


def undo(page: Page, text: str) -> None:
    """What is told by a text that begins so."""
    undone = page.get_by_text(re.compile("as before"))
    before = undone.count()
    page.get_by_role("button", name=re.compile(f"^Undo: {text}")).click()
    expect(undone).to_have_count(before + 1)


def paused(webloom: Webloom) -> int:
    return int(ask(webloom, "GET", "/api/watches?limit=1&state=paused")["total"])


def listed(webloom: Webloom, path: str, *names: str) -> list[dict[str, Any]]:
    """These fields of what the API lists there."""
    return [{name: each[name] for name in names} for each in ask(webloom, "GET", path)["data"]]


@contextmanager
def slowed(webloom: Webloom) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """After each of its commits Webloom waits for another program to write, for a moment or, inside
    of what is called, until the end of that: an action can't end before a test has seen it."""
    goes_on, is_writing, is_over = threading.Event(), threading.Event(), threading.Event()
    goes_on.set()

    def write_after_each_commit() -> None:
        file = webloom.data_dir / "webloom.db"
        with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as database:
            while not is_over.is_set():
                try:  # not by its time limit: that sleeps while Webloom commits again and again
                    database.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:
                    continue
                is_writing.set()
                is_over.wait(0.2)
                goes_on.wait()
                is_writing.clear()
                database.execute("ROLLBACK")
                [before] = database.execute("PRAGMA data_version")
                while goes_on.is_set() and not is_over.wait(0.0005):
                    if database.execute("PRAGMA data_version").fetchone() != before:
                        break

    @contextmanager
    def halted() -> Iterator[None]:
        goes_on.clear()
        assert is_writing.wait(TIMEOUT_SECONDS)
        yield
        goes_on.set()

    thread = threading.Thread(target=write_after_each_commit)
    thread.start()
    try:
        yield halted
    finally:
        is_over.set()
        goes_on.set()
        thread.join()


def told_of_stop(page: Page, of: Locator) -> Locator:
    """Stops an action, which is `slowed`, and returns what is said of that."""
    of.get_by_role("button", name="Stop").click()
    told = page.get_by_role("status").filter(has_text=re.compile(r"^Stopped after "))
    expect(told).to_be_visible()
    return told


def counts_of(told: Locator) -> tuple[int, int]:
    """How many items were done with, and how many more may be."""
    text = str(told.locator("p").text_content())
    found = re.search(r"after ([\d,]+) of .* Up to (\d+) more may be", text)
    assert found is not None, text
    return int(found[1].replace(",", "")), int(found[2])


def test_nothing_can_be_done_with_a_list_that_has_not_loaded_yet(page: Page) -> None:
    open_list(page, "/watch?q=engine", f"{ENGINES:,} watches")
    held: list[Route] = []
    is_slow = True
    page.route(
        re.compile(r"/api/watches\?"),
        lambda route: held.append(route) if is_slow else route.continue_(),
    )
    page.get_by_role("button", name="Clear", exact=True).click()
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(page.get_by_text("100 watches selected")).to_be_visible()
    for name in (f"Select all {ENGINES:,} watches", "Pause", "Remove"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
    assert_accessible(page)
    is_slow = False
    for each in held:
        each.continue_()
    expect(page.get_by_role("button", name=f"Select all {WATCHES:,} watches")).to_be_enabled()
    expect(page.get_by_role("button", name="Remove", exact=True)).to_be_enabled()


def test_nothing_is_done_if_more_match_than_were_seen(
    page: Page, webloom: Webloom, watched: Watched
) -> None:
    watched.expected = ("409",)
    before = paused(webloom)

    made: list[str] = []

    def after_an_engine(route: Route) -> None:
        late = {"url": "https://late.test/", "name": "Engine late", "enabled": True}
        made.append(ask(webloom, "POST", "/api/watches", late)["jobId"])
        route.continue_()

    open_list(page, "/watch?q=engine", f"{ENGINES:,} watches")
    page.route("**/api/watches/bulk", after_an_engine)
    select_all(page, f"{ENGINES:,} watches")
    choose(page, "Pause", f"Pause: all {ENGINES:,} watches?")
    expect(page.get_by_text(f"Nothing was done: more than {ENGINES:,} match now.")).to_be_visible()
    assert paused(webloom) == before
    for each in made:
        ask(webloom, "DELETE", f"/api/watches/{each}")


def test_many_are_asked_about_and_few_are_not_if_they_can_be_undone(page: Page) -> None:
    open_list(page, "/watch", f"{WATCHES:,} watches")
    select(page, 2)
    page.get_by_role("button", name="Run now", exact=True).click()
    question = page.get_by_role("dialog", name="Run now: 2 watches?")
    expect(question).to_contain_text("This can't be undone.")
    assert_accessible(page)
    question.get_by_role("button", name="Cancel").click()
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Pause", exact=True).click()
    question = page.get_by_role("dialog", name="Pause: 100 watches?")
    expect(question).to_contain_text("You can undo it afterwards.")
    question.get_by_role("button", name="Cancel").click()


@pytest.mark.parametrize(
    ("path", "count", "kind", "key"),
    [
        ("/watch", f"{WATCHES:,} watches", "watches", "schedule"),
        ("/feeds", f"{FEEDS} feeds", "feeds", "intervalMinutes"),
    ],
)
def test_the_interval_of_many_is_set_and_that_is_undone(
    page: Page, webloom: Webloom, path: str, count: str, kind: str, key: str
) -> None:
    api = f"/api/{kind}?limit=3"
    before = listed(webloom, api, key, "nextRunAt")
    open_list(page, path, count)
    select(page, 3)
    page.get_by_role("button", name="Set interval", exact=True).click()
    dialog = page.get_by_role("dialog", name=f"Set the interval: 3 {kind}")
    minutes = dialog.get_by_label("Minutes")
    for text, said in (
        ("1,440", "can be read in two ways: write 1440 or 1.44"),
        ("soon", "Enter a number of minutes from 0.05 to 525600."),
    ):
        minutes.fill(text)
        dialog.get_by_role("button", name="Set interval").click()
        expect(dialog.get_by_role("alert")).to_contain_text(said)
    assert_accessible(page)
    minutes.fill("1440")
    dialog.get_by_role("button", name="Set interval").click()
    expect(page.get_by_text(f"3 {kind} scheduled.")).to_be_visible()
    for each in listed(webloom, api, key):
        value = each[key]["everyMinutes"] if kind == "watches" else each[key]
        assert value == 1440
    undo(page, f"3 {kind} scheduled.")
    after = listed(webloom, api, key, "nextRunAt")
    assert [each[key] for each in after] == [each[key] for each in before]


def test_feeds_are_paused_tagged_and_imported_together(page: Page, webloom: Webloom) -> None:
    open_list(page, "/feeds?q=feed", f"{FEEDS} feeds")
    select_all(page, f"{FEEDS} feeds")
    choose(page, "Pause", f"Pause: all {FEEDS} feeds?")
    expect(page.get_by_text(f"{FEEDS} feeds paused.")).to_be_visible()
    assert ask(webloom, "GET", "/api/feeds?state=paused")["total"] == FEEDS
    undo(page, f"{FEEDS} feeds paused.")
    assert ask(webloom, "GET", "/api/feeds?state=paused")["total"] == 0
    select(page, 2)
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("dialog").get_by_label("Tags").fill("chosen")
    page.get_by_role("dialog").get_by_role("button", name="Add tags").click()
    undo(page, "2 feeds tagged.")
    assert ask(webloom, "GET", "/api/feeds?tag=chosen")["total"] == 0
    body = {"url": "https://own.test/jobs.xml", "name": "Own"}
    own = ask(webloom, "POST", "/api/feeds", body)["feedId"]
    open_list(page, "/feeds?q=own", "1 feed")
    select(page, 1)
    choose(page, "Import now", "Import now: 1 feed?")
    expect(page.get_by_text("1 feed being imported.")).to_be_visible()
    assert ask(webloom, "GET", f"/api/feeds/{own}")["activeRunId"]
    ask(webloom, "DELETE", f"/api/feeds/{own}")


def test_a_watch_that_was_paused_by_mistake_is_due_as_before(page: Page, webloom: Webloom) -> None:
    body = {"url": "https://due.test/", "name": "Due", "schedule": {"everyMinutes": 1440}}
    watch = ask(webloom, "POST", "/api/watches", body)
    path = f"/api/watches/{watch['jobId']}"
    open_list(page, "/watch?q=due", "1 watch")
    select(page, 1)
    choose(page, "Pause")
    expect(page.get_by_text("1 watch paused.")).to_be_visible()
    assert ask(webloom, "GET", path)["nextRunAt"] is None
    undo(page, "1 watch paused.")
    due = datetime.fromisoformat(ask(webloom, "GET", path)["nextRunAt"])
    assert due < datetime.now(UTC) + timedelta(hours=1)  # and not in a day
    ask(webloom, "DELETE", path)


def test_what_is_stopped_is_undone_as_far_as_it_is_known(page: Page, webloom: Webloom) -> None:
    before = paused(webloom)
    open_list(page, "/watch", f"{WATCHES:,} watches")
    select_all(page, f"{WATCHES:,} watches")
    with slowed(webloom) as halted:
        choose(page, "Pause", f"Pause: all {WATCHES:,} watches?")
        page.get_by_text(re.compile(rf"^[1-9][\d,]* of {WATCHES:,}$")).wait_for()
        with halted():
            known, more = counts_of(told_of_stop(page, page.locator("main")))
    assert 0 < known < WATCHES
    assert more == IN_FLIGHT
    assert_accessible(page)
    undo(page, "Stopped after")
    assert before <= paused(webloom) <= before + IN_FLIGHT


@contextmanager
def bulk_held(page: Page) -> Iterator[None]:
    """Actions on watches begin, and reach the server only at the end of this."""
    begun: list[Route] = []
    is_held = True
    page.route(
        "**/api/watches/bulk",
        lambda route: begun.append(route) if is_held else route.continue_(),
    )
    yield
    is_held = False
    assert begun
    for each in begun:
        each.continue_()


def leave_for(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_an_action_goes_on_while_other_screens_are_shown(page: Page, webloom: Webloom) -> None:
    before = paused(webloom)
    open_list(page, "/watch?sort=-createdAt", f"{WATCHES:,} watches")
    select_all(page, f"{WATCHES:,} watches")
    working = page.get_by_role("region", name="Pause, in progress")
    with slowed(webloom) as halted:
        with bulk_held(page):
            choose(page, "Pause", f"Pause: all {WATCHES:,} watches?")
            expect(working).to_have_count(0)  # its list is on the screen, and shows it
            leave_for(page, "Queues")
            expect(working.get_by_role("link", name="Back to the list")).to_be_visible()
            assert_accessible(page)
            with page.expect_event("dialog") as asked:
                page.close(run_before_unload=True)
            assert asked.value.type == "beforeunload"
            asked.value.dismiss()
        working.get_by_text(re.compile(rf"^Pause: [1-9][\d,]* of {WATCHES:,} watches$")).wait_for()
        with halted():
            told = told_of_stop(page, working)
    expect(working).to_have_count(0)
    assert paused(webloom) > before
    told.get_by_role("link", name="Back to the list").click()
    expect(page).to_have_url(re.compile(r"/watch\?sort=-createdAt$"))
    undo(page, "Stopped after")
    assert paused(webloom) <= before + IN_FLIGHT
    with page.expect_event("close"):
        page.close(run_before_unload=True)


def test_what_failed_is_seen_on_return(page: Page, webloom: Webloom) -> None:
    body = {
        "url": "https://full.test/",
        "name": "Full of tags",
        "tags": [f"tag {number}" for number in range(20)],
        "enabled": False,
    }
    path = f"/api/watches/{ask(webloom, 'POST', '/api/watches', body)['jobId']}"
    open_list(page, "/watch?q=full", "1 watch")
    select(page, 1)
    with bulk_held(page):
        page.get_by_role("button", name="Tag", exact=True).click()
        page.get_by_role("dialog").get_by_label("Tags").fill("one more")
        page.get_by_role("dialog").get_by_role("button", name="Add tags").click()
        leave_for(page, "Feeds")
    told = page.get_by_role("status").filter(has_text="0 watches tagged. 1 failure.")
    expect(told).to_be_visible()
    failures = page.get_by_role("alert").filter(has_text="1 failure")
    expect(failures).to_have_count(0)  # this is another list
    told.get_by_role("link", name="Back to the list").click()
    expect(failures).to_contain_text("Full of tags: ")
    failures.get_by_role("button", name="Close").click()
    expect(failures).to_have_count(0)
    ask(webloom, "DELETE", path)


def test_undo_waits_for_the_action_that_is_running(page: Page, webloom: Webloom) -> None:
    before = paused(webloom)
    bodies = [{"url": f"https://undone.test/{number}"} for number in range(3)]
    ids = [ask(webloom, "POST", "/api/watches", each)["jobId"] for each in bodies]
    open_list(page, "/watch?q=undone", "3 watches")
    select(page, 1)
    choose(page, "Pause")
    expect(page.get_by_text("1 watch paused.")).to_be_visible()
    for index in (1, 2):
        rows(page).nth(index).get_by_role("checkbox").check()
    with bulk_held(page):
        choose(page, "Pause")
        expect(page.get_by_role("progressbar", name="Done")).to_be_visible()
        page.get_by_role("button", name=re.compile("^Undo: 1 watch paused")).click()
        expect(page.get_by_text("It will be undone after that.")).to_be_visible()
    expect(page.get_by_text("2 watches paused.")).to_be_visible()
    expect(page.get_by_text("1 watch as before.")).to_be_visible()
    assert paused(webloom) == before + 2
    undo(page, "2 watches paused.")
    assert paused(webloom) == before
    for each in ids:
        ask(webloom, "DELETE", f"/api/watches/{each}")


def test_failed_imports_are_retried_but_for_feeds_that_have_recovered(
    page: Page, webloom: Webloom
) -> None:
    failed = FAILING_FEEDS + 1
    open_list(page, "/import-history?status=failed", f"{failed} runs, page 1 of 1")
    page.get_by_role("checkbox", name="Select all on this page").check()
    choose(page, "Retry", f"Retry: {failed} runs?")
    expect(page.get_by_text(f"{FAILING_FEEDS} runs started again.")).to_be_visible()
    skipped = page.get_by_role("alert").filter(has_text="1 skipped")
    expect(skipped).to_contain_text(f"Feed {FAILING_FEEDS:03}: Not needed")
    assert_accessible(page)
    begun = listed(webloom, "/api/import-logs?status=running", "trigger", "sourceName")
    assert [each["trigger"] for each in begun].count("retry") == FAILING_FEEDS


def test_all_imports_of_some_days_are_retried(page: Page, webloom: Webloom) -> None:
    for number in range(FAILING_FEEDS):
        with suppress(HTTPError):  # it is being imported already
            ask(webloom, "POST", "/api/import/run", {"sourceUrl": feed_url(number)})
    days = "from=2026-03-01&to=2026-03-01"
    open_list(page, f"/import-history?{days}", f"{OTHERS} runs, page 1 of 13")
    select_all(page, f"{OTHERS} runs")
    choose(page, "Retry", f"Retry: all {OTHERS} runs?")
    expect(page.get_by_text(f"{FEEDS - FAILING_FEEDS} runs started again.")).to_be_visible()
    failures = page.get_by_role("alert").filter(has_text=f"{FAILING_FEEDS} failures")
    expect(failures).to_contain_text("Feed 000: Its feed is being imported already")


def test_all_records_that_match_are_fetched_again(page: Page, webloom: Webloom) -> None:
    open_list(page, "/inventory", f"{OTHERS} records")
    select_all(page, f"{OTHERS} records")
    choose(page, "Refetch", f"Refetch: all {OTHERS} records?")
    expect(page.get_by_text(f"{OTHERS} records submitted.")).to_be_visible()
    pending = ask(webloom, "GET", "/metadata/records?limit=1&status=PENDING")
    assert pending["total"] in (OTHERS, None)
    assert pending["data"]


def test_the_watches_of_pages_are_paused_and_checked(page: Page, webloom: Webloom) -> None:
    page.goto("/watch?show=pages")
    expect(rows(page).first).to_be_visible()
    keys = (str(rows(page).nth(index).get_attribute("data-key")) for index in range(2))
    paths = [f"/api/watches/{each.partition(chr(10))[0]}" for each in keys]
    for path in paths:  # another test may have left them paused
        ask(webloom, "PATCH", path, {"enabled": True})

    def enabled() -> list[bool]:
        return [ask(webloom, "GET", path)["enabled"] for path in paths]

    select(page, 2)
    page.get_by_role("button", name="Pause", exact=True).click()
    question = page.get_by_role("dialog", name="Pause: 2 pages?")
    expect(question).to_contain_text("The watch of each is paused, with all its pages.")
    assert_accessible(page)
    question.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("2 watches paused.")).to_be_visible()
    assert enabled() == [False, False]
    undo(page, "2 watches paused.")
    assert enabled() == [True, True]
    select(page, 2)
    choose(page, "Check now", "Check now: 2 pages?")
    expect(page.get_by_text("2 watches started.")).to_be_visible()
    assert len(ask(webloom, "GET", "/api/watches?state=checking")["data"]) == 2


def test_the_watches_of_all_pages_that_match_are_tagged_and_paused(
    page: Page, webloom: Webloom
) -> None:
    pages = OTHERS // 25
    body = {"urls": ["https://unrelated.test/"], "name": "Unrelated", "enabled": False}
    unrelated = f"/api/watches/{ask(webloom, 'POST', '/api/watches', body)['jobId']}"
    open_list(page, "/watch?show=pages&outcome=unchanged", f"{OTHERS - pages} pages")
    select_all(page, f"{OTHERS - pages} pages")
    page.get_by_role("button", name="Tag", exact=True).click()
    dialog = page.get_by_role("dialog", name=f"Add tags: the watches of all {OTHERS - pages} pages")
    dialog.get_by_label("Tags").fill("of pages")
    assert_accessible(page)
    dialog.get_by_role("button", name="Add tags").click()
    expect(page.get_by_text(f"{OTHERS - pages} watches tagged.")).to_be_visible()
    tagged = ask(webloom, "GET", "/api/watches?tag=of%20pages&limit=1")["total"]
    assert tagged == OTHERS - pages
    undo(page, f"{OTHERS - pages} watches tagged.")
    assert ask(webloom, "GET", "/api/watches?tag=of%20pages&limit=1")["total"] == 0

    open_list(page, "/watch?show=pages&outcome=failed", f"{pages} pages")
    select(page, 2)
    page.get_by_role("button", name="Set interval", exact=True).click()
    dialog = page.get_by_role("dialog", name="Set the interval: the watches of 2 pages")
    dialog.get_by_label("Minutes").fill("77")
    dialog.get_by_role("button", name="Set interval").click()
    undo(page, "2 watches scheduled.")
    page.get_by_role("checkbox", name="Select all on this page").uncheck()
    ask(webloom, "DELETE", unrelated)


def test_of_a_number_that_is_not_known_no_later_records_are_fetched_again(
    page: Page, webloom: Webloom
) -> None:
    read_at: list[str] = []

    def inexactly(route: Route) -> None:
        answer = route.fetch()
        read_at.append(answer.json()["at"])
        route.fulfill(response=answer, json=answer.json() | {"totalIsExact": False})

    def after_one_more(route: Route) -> None:
        ask(webloom, "POST", "/metadata", {"url": "https://late.test/"})
        route.continue_()

    page.route("**/metadata/records?*", inexactly)
    page.route("**/metadata/bulk", after_one_more)
    open_list(page, "/inventory", f"{OTHERS}+ records")
    select_all(page, f"{OTHERS}+ records")
    with page.expect_request("**/metadata/bulk") as asked:
        choose(page, "Refetch", f"Refetch: all {OTHERS}+ records?")
    assert (asked.value.post_data_json or {})["filter"]["before"] in read_at
    expect(page.get_by_text(f"{OTHERS} records submitted.")).to_be_visible()
    page.unroute_all(behavior="ignoreErrors")
    ask(webloom, "DELETE", "/metadata?url=https%3A%2F%2Flate.test%2F")


@pytest.fixture(scope="module")
def letters(webloom: Webloom) -> None:
    """Of the storage agent; each tenth tells of a lamp."""

    async def bury() -> None:
        async with open_services(load_settings(environment(webloom.data_dir))) as services:
            bodies = [
                b'{"of": "%s", "n": %d}' % (b"lamp" if number % 10 == 0 else b"chair", number)
                for number in range(LETTERS)
            ]
            messages = [Message(id=f"m{number}", body=each) for number, each in enumerate(bodies)]
            reason = f"=not an event: {'because ' * 40}"
            for first in range(0, LETTERS, IN_FLIGHT):
                some = messages[first : first + IN_FLIGHT]
                assert None not in await services.broker.publish_many(STORAGE_QUEUE, some)
                async with services.broker.deliveries(STORAGE_QUEUE, IN_FLIGHT) as deliveries:
                    taken = [await anext(deliveries) for _ in some]
                    await asyncio.gather(*(each.dead_letter(reason) for each in taken))

    with ThreadPoolExecutor(1) as thread:  # the browser's event loop may be open in this one
        thread.submit(asyncio.run, bury()).result()


@pytest.mark.usefixtures("letters")
def test_dead_letters_say_why_and_go_out_as_a_file(page: Page) -> None:
    page.goto(f"/queues/{STORAGE_QUEUE}")
    reason = rows(page).first.get_by_text("=not an event")
    expect(reason).to_be_visible()
    assert reason.evaluate("it => it.scrollWidth <= it.clientWidth && it.clientHeight > 20")
    assert_accessible(page)
    assert_fits_a_phone(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_label("Search", exact=True).fill("lamp 10")
    expect(rows(page)).to_have_count(2)  # of the first 1,000 letters; the file has all
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of all that match").click()
    with download.value.path().open(newline="") as file:
        found = [*csv.DictReader(file)]
    of_lamps = ["m10", "m100", *(f"m{number}" for number in range(1000, 1100, 10))]
    assert [each["id"] for each in found] == of_lamps
    assert all(each["reason"].startswith("'=not an event") for each in found)


@pytest.mark.usefixtures("letters")
def test_dead_letters_that_match_are_put_back_with_progress_and_it_can_be_stopped(
    page: Page, webloom: Webloom
) -> None:
    page.goto(f"/queues/{STORAGE_QUEUE}?q=lamp")
    expect(rows(page).first).to_be_visible()
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Select all 50+ dead letters").click()
    choose(page, "Put back", "Put all 50+ dead letters back?")
    expect(page.get_by_text(f"{LETTERS // 10} dead letters put back.")).to_be_visible()

    left = LETTERS - LETTERS // 10
    page.get_by_role("button", name="Clear", exact=True).click()
    select_all(page, f"{left:,} dead letters")
    with slowed(webloom) as halted:
        choose(page, "Discard", f"Discard all {left:,} dead letters?")
        page.get_by_text(re.compile(rf"^[1-9][\d,]* of {left:,}$")).wait_for()
        with halted():
            known, _ = counts_of(told_of_stop(page, page.locator("main")))
    [queue] = [
        each for each in ask(webloom, "GET", "/api/queues")["data"] if each["name"] == STORAGE_QUEUE
    ]
    assert left - known - IN_FLIGHT <= queue["dead"] <= left - known
