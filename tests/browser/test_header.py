"""The header of every page says what is wrong with the installation, and leads to the cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, expect

from browser.checks import assert_accessible, assert_nothing_is_cut
from browser.conftest import ask
from browser.furnished import FEEDS, furnished
from browser.site import Site, product
from browser.test_queues import dead_letter
from browser.test_watch import check
from e2e.running import Webloom


def notify_lost_targets(webloom: Webloom, site: Site, count: int) -> None:
    """The site takes no POST."""
    urls = [f"json://127.0.0.1:{site.port}/hook/{number}" for number in range(count)]
    body = {
        "urls": [site.serve("/shelf", product("Shelf", "20.00"))],
        "name": "Shelves",
        "enabled": False,
        "targets": [{"url": each} for each in urls],
    }
    watch = ask(webloom, "POST", "/api/watches", body)
    check(webloom, watch)
    site.serve("/shelf", product("Shelf", "15.00"))
    check(webloom, watch)


@dataclass(frozen=True, kw_only=True)
class Cause:
    says: str  # a regular expression
    heading: str  # of the screen where the link leads
    path: str  # a regular expression
    processes: str = "up"
    settings: dict[str, object] = field(default_factory=dict)
    bring_about: Callable[[Webloom, Site], object] = lambda webloom, site: None


CAUSES = {
    "a target that fails": Cause(
        bring_about=lambda webloom, site: notify_lost_targets(webloom, site, 1),
        says=r"The latest notification of the watch Shelves to json://… failed: JSON answered 501",
        heading="Shelves",
        path="/watch/[^/]+$",
    ),
    "more targets than are listed": Cause(
        bring_about=lambda webloom, site: notify_lost_targets(webloom, site, 12),
        says=r"The latest notification to 2 more targets failed\.",
        heading="Watch",
        path="/watch$",
    ),
    "a full database": Cause(
        settings={"database_limit": 1000},
        says="The database is full, so nothing new is stored: .*WEBLOOM_DATABASE_LIMIT is 1,000",
        heading="System",
        path="/system$",
    ),
    "no scheduler": Cause(
        processes="api",
        says=rf"No scheduler is running, and {FEEDS} feeds and \d+ watches wait for one",
        heading="System",
        path="/system$",
    ),
    "dead letters": Cause(
        processes="api",
        bring_about=lambda webloom, site: dead_letter(webloom, "watch-pages", one="", two=""),
        says=r"The queue watch-pages has 2 dead letters\.",
        heading="watch-pages",
        path="/queues/watch-pages$",
    ),
}


@pytest.fixture
def cause(request: pytest.FixtureRequest) -> Cause:
    return CAUSES[request.param]


@pytest.fixture
def webloom(
    tmp_path_factory: pytest.TempPathFactory, site: Site, cause: Cause
) -> Iterator[Webloom]:
    """One for each cause."""
    folder = tmp_path_factory.mktemp("header")
    with furnished(folder, cause.processes, **cause.settings) as it:
        cause.bring_about(it, site)
        yield it


@pytest.mark.parametrize("cause", CAUSES, indirect=True)
def test_the_header_says_what_is_wrong_and_leads_there(page: Page, cause: Cause) -> None:
    page.goto("/jobs")
    header = page.get_by_role("banner")
    header.get_by_role("button", name=re.compile(r"Health: \d+ problem")).click()
    said = header.get_by_role("listitem").filter(has_text=re.compile(cause.says))
    expect(said).to_be_visible()
    assert_accessible(page)
    assert_nothing_is_cut(header)
    said.get_by_role("link", name="Look").click()
    expect(page).to_have_url(re.compile(cause.path))
    expect(page.get_by_role("heading", level=1)).to_have_text(cause.heading)
    expect(said).to_be_hidden()
