"""Pages whose text appears only with JavaScript say so; others don't."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from webloom.domain.page import PageType, Selection
from webloom.parsing.pages.page import PageReading
from webloom.parsing.pages.reading import read_page

SHOP_PAGES = Path(__file__).parents[3] / "shared/data/product-pages"
SENTENCE = "The text of this page appears only with JavaScript, which Webloom does not run: "
BUNDLE = '<script type="module" src="/assets/index-4f2a.js"></script>'
COUNTER = "<script>window.visits = 1</script>"
LARGE = f"<script>{'render(state); ' * 200}</script>"
WORDS = "<p>The shuttle goes from one side of the loom to the other. </p>" * 20


def read(html: str, *, status_code: int = 200, selection: Selection | None = None) -> PageReading:
    return read_page(
        f"<!doctype html><html lang=en><title>Shop</title>{html}".encode(),
        url="https://shop.test/",
        status_code=status_code,
        content_type="text/html",
        selection=selection or Selection(),
    )


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (f"<div id=root></div>{BUNDLE}", "its element #root is empty until a script fills it."),
        (f"<div id=app>Loading…</div>{BUNDLE}", "its element #app is empty until"),
        (f"<div id=__next><style>p {{}}</style></div>{BUNDLE}", "its element #__next is empty"),
        (f"<app-root></app-root>{BUNDLE}", "its element <app-root> is empty"),
        (f"<header>Shop</header><div id=root></div>{BUNDLE}", "its element #root is empty"),
        (
            f"<noscript>You need to enable JavaScript to run this app.</noscript>{BUNDLE}",
            "it says “You need to enable JavaScript to run this app”.",
        ),
        (f"<p>Please turn on Javascript.</p>{BUNDLE}", "it says “Please turn on Javascript”."),
        (f"<main></main>{LARGE}", "without its script there is nothing to read."),
        (f"<main></main>{BUNDLE}{COUNTER}", "without its 2 scripts there is nothing to read."),
        (
            "<noscript>JavaScript, <b>now</b>" + " please" * 500 + f"</noscript>{BUNDLE}",
            "it says “JavaScript, now please",
        ),
    ],
    ids=["root", "loading", "only a style", "angular", "with a header", "noscript", "visible",
         "large script", "two scripts", "long message"],
)  # fmt: skip
def test_a_page_without_its_text_says_why(html: str, reason: str) -> None:
    reading = read(html)
    assert reading.needs_javascript is not None
    assert reading.needs_javascript.startswith(SENTENCE + reason)
    assert len(reading.needs_javascript) < 300
    seen = reading.classification
    assert (seen.type, seen.confidence) == (PageType.OTHER, 0.0)
    assert seen.reasons == [reading.needs_javascript]


@pytest.mark.parametrize(
    "html",
    [
        f"<div id=root>{WORDS}</div>{BUNDLE}",
        f"<div id=root></div>{WORDS}{BUNDLE}",
        f"<noscript>Without JavaScript you can't pay.</noscript>{WORDS}{BUNDLE}",
        f"<noscript><img src=/count.gif></noscript><p>We are closed until May.</p>{BUNDLE}",
        "<div id=root></div>",
        "<p>Under construction</p>",
        f"<p>Under construction, back on Monday.</p>{COUNTER}",
        '<div id=root></div><script type="application/ld+json">{"@type": "Thing"}</script>',
        "",
    ],
    ids=["rendered on the server", "beside the mount", "noscript beside text", "counter image",
         "no script", "short", "short with a counter", "data only", "empty"],
)  # fmt: skip
def test_a_page_with_its_text_or_without_scripts_says_nothing(html: str) -> None:
    assert read(html).needs_javascript is None


def test_a_wall_is_a_wall() -> None:
    wall = "<h1>Verify you are human</h1><noscript>Enable JavaScript</noscript>"
    reading = read(f"{wall}<div class=g-recaptcha></div>{BUNDLE}", status_code=403)
    assert reading.classification.type is PageType.BLOCKED
    assert reading.needs_javascript is None


def test_what_is_left_out_does_not_count() -> None:
    reading = read(f"<main>{WORDS}</main>{LARGE}", selection=Selection(drop=["main"]))
    assert (reading.parsed.text, reading.needs_javascript) == ("", None)


def test_a_price_in_the_data_of_such_a_page_is_found() -> None:
    data = (
        '<script type="application/ld+json">{"@type": "Product", "name": "Loom", "offers": '
        '{"@type": "Offer", "price": "49.90", "priceCurrency": "EUR"}}</script>'
    )
    reading = read(f"{data}<div id=root></div>{BUNDLE}")
    assert reading.price is not None
    assert reading.needs_javascript is not None
    assert reading.classification.type is PageType.PRODUCT


@pytest.mark.parametrize(
    "html",
    ["<div>" * 900 + "<b>x</b>" * 9000, "<noscript>x</noscript>" * 9000, "<p id=root></p>" * 9000],
    ids=["deep", "noscript", "mounts"],
)
def test_hostile_pages_are_read(html: str) -> None:
    read(html + BUNDLE)


@pytest.mark.skipif(not SHOP_PAGES.is_dir(), reason="pages of real shops are not here")
def test_pages_of_real_shops_have_their_text() -> None:
    flagged = {}
    for path in sorted(SHOP_PAGES.glob("*.html.gz")):
        reading = read_page(
            gzip.decompress(path.read_bytes()),
            url="https://shop.test/",
            status_code=200,
            content_type="text/html",
            selection=Selection(),
        )
        if reading.needs_javascript:
            flagged[path.name] = reading.needs_javascript
    assert flagged == {}
