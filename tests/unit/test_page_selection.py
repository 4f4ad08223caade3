"""What of a page counts: selectors that keep and drop, lines that are ignored, order."""

import pytest

from webloom.domain.errors import PageUnreadable
from webloom.domain.page import PageType, Selection
from webloom.parsing.pages.page import PageReading
from webloom.parsing.pages.reading import read_page
from webloom.parsing.pages.selection import check_selection

PAGE = """<html><head><title>Boots</title></head><body>
<nav><a href=/menu>Menu</a></nav>
<div id=b class=part><p>second <b>bold</b></p><a href=/b><img src=/b.png></a></div>
<div id=a class=part><p>first</p><span class=ad>buy this</span></div>
<p class=part>third</p>
<footer>Imprint</footer></body></html>"""


def read(selection: Selection, page: str = PAGE, status_code: int = 200) -> PageReading:
    return read_page(
        page.encode(),
        url="https://shop.test/boots",
        status_code=status_code,
        content_type="text/html; charset=utf-8",
        selection=selection,
    )


def lines(selection: Selection, page: str = PAGE) -> list[str]:
    text = read(selection, page).parsed.text
    return text.split("\n") if text else []


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        pytest.param(["#a p"], ["first"], id="CSS"),
        pytest.param(["p.part", "#a p", "#b p"], ["second bold", "first", "third"], id="in order"),
        pytest.param(["p", "#a", "#a p"], ["second bold", "first", "buy this", "third"], id="once"),
        pytest.param(["//div[@id='a']/p"], ["first"], id="XPath"),
        pytest.param(["xpath://div[@id='a']/p"], ["first"], id="XPath by name"),
        pytest.param(["(//p)[2]"], ["first"], id="XPath in brackets"),
        pytest.param(["//p[@class]", "#b p"], ["second bold", "third"], id="both, in order"),
        pytest.param(["//p", "//div[@id='a']/p"], ["second bold", "first", "third"], id="once too"),
        pytest.param(["//a/@href"], ["/menu", "/b"], id="attributes"),
        pytest.param(["//p/text()"], ["second", "first", "third"], id="texts"),
        pytest.param(["xpath:count(//p)"], ["3"], id="a number"),
        pytest.param(["xpath:string(//b)"], ["bold"], id="a string"),
        pytest.param(["nav", "footer"], ["Menu", "Imprint"], id="what is dropped otherwise"),
        pytest.param(["title"], ["Boots"], id="what is not shown otherwise"),
    ],
)
def test_only_what_is_kept_counts(keep: list[str], expected: list[str]) -> None:
    assert lines(Selection(keep=keep)) == expected


@pytest.mark.parametrize(
    ("drop", "expected"),
    [
        pytest.param([".ad", "#b"], ["first", "third"], id="CSS"),
        pytest.param(["//span", "//div[@id='b']"], ["first", "third"], id="XPath"),
        pytest.param(["//span", "#b"], ["first", "third"], id="both"),
        pytest.param([".gone", ".ad"], ["second bold", "first", "third"], id="finds nothing"),
        pytest.param(["body > *"], [], id="everything"),
    ],
)
def test_what_is_dropped_does_not_count(drop: list[str], expected: list[str]) -> None:
    assert lines(Selection(drop=drop)) == expected


def test_of_what_is_kept_a_part_can_be_dropped() -> None:
    assert lines(Selection(keep=["#a"], drop=[".ad"])) == ["first"]
    assert lines(Selection(keep=["//div[@id='a']"], drop=["//span"])) == ["first"]


def test_images_and_links_are_those_of_what_is_kept() -> None:
    whole = read(Selection()).parsed
    assert (whole.images, whole.links) == (
        ["https://shop.test/b.png"],
        ["https://shop.test/menu", "https://shop.test/b"],
    )
    assert read(Selection(keep=["#b"])).parsed.links == ["https://shop.test/b"]
    assert read(Selection(keep=["#a"])).parsed.images == []


@pytest.mark.parametrize("selector", [".gone", "//div[@id='gone']", "//p/@gone"])
def test_a_selector_that_finds_nothing_makes_the_page_unreadable(selector: str) -> None:
    with pytest.raises(PageUnreadable, match=r"gone.* finds nothing on the page"):
        read(Selection(keep=["#a", selector]))


def test_a_selector_that_finds_nothing_on_a_wall_is_not_an_error() -> None:
    reading = read(Selection(keep=[".gone"]), "<title>No</title><p>Forbidden", status_code=403)
    assert (reading.classification.type, reading.parsed.text) == (PageType.BLOCKED, "Forbidden")


LIST = "<p>Beta 12 views</p><p>alpha</p><p>ALPHA  3 VIEWS</p><p>alpha</p><p>gamma</p>"


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(ignore_text=["views"]), ["alpha", "alpha", "gamma"]),
        (Selection(ignore_text=["Alpha  3", "GAMMA"]), ["Beta 12 views", "alpha", "alpha"]),
        (Selection(ignore_pattern=[r"\d+ views$"]), ["alpha", "ALPHA 3 VIEWS", "alpha", "gamma"]),
        (Selection(ignore_pattern=["(?i)views", "^g"]), ["alpha", "alpha"]),
        (Selection(unique_lines=True), ["Beta 12 views", "alpha", "ALPHA 3 VIEWS", "gamma"]),
        (Selection(sort_lines=True), ["ALPHA 3 VIEWS", "Beta 12 views", "alpha", "alpha", "gamma"]),
        (Selection(sort_lines=True, unique_lines=True, ignore_text=["views"]), ["alpha", "gamma"]),
        (Selection(ignore_pattern=["."]), []),
    ],
)
def test_lines_are_ignored_sorted_and_made_unique(
    selection: Selection, expected: list[str]
) -> None:
    assert lines(selection, LIST) == expected


def test_ignored_lines_and_their_order_are_not_a_change() -> None:
    selection = Selection(ignore_pattern=["(?i)views"], sort_lines=True)
    moved = "<p>gamma</p><p>13 views</p><p>alpha</p><p>alpha</p>"
    assert read(selection, LIST).snapshot_hash == read(selection, moved).snapshot_hash
    assert read(Selection(), LIST).snapshot_hash != read(Selection(), moved).snapshot_hash


@pytest.mark.parametrize(
    ("selection", "named"),
    [
        (Selection(keep=["p["]), r"CSS selector 'p\['"),
        (Selection(drop=["p:nonsense"]), "CSS selector 'p:nonsense'"),
        (Selection(keep=["//p["]), r"XPath '//p\['"),
        (Selection(keep=["//p[re:test(., 'a')]"]), r"XPath .//p\[re:test"),
        (Selection(drop=["xpath:document('file:///etc/passwd')"]), "XPath .xpath:document"),
        (Selection(keep=["(" * 900]), "brackets more than 8 deep"),
        (Selection(keep=["//*[count(" * 30 + "//*" + ")>0]" * 30]), "brackets more than 8 deep"),
        (Selection(ignore_pattern=["(a"]), r"pattern '\(a'"),
        (Selection(ignore_pattern=[r"(a)\1"]), "pattern"),
        (Selection(ignore_text=[" "]), "ignore_text has an empty entry"),
        (Selection(keep=["p"] * 51), "keep has 51 entries"),
        (Selection(drop=["p" * 1001]), "drop has an entry of 1001 characters"),
    ],
)
def test_a_bad_selection_is_refused_by_name(selection: Selection, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        check_selection(selection)


def test_a_good_selection_is_accepted_and_works() -> None:
    selection = Selection(
        keep=["div > p:nth-child(2n+1):not(:has(a))", "//p/@class", "xpath:count(//p)"],
        drop=["[class*=ad i]"],
        ignore_text=["x"],
        ignore_pattern=[r"(?i)\d+ (views|visits)"],
    )
    check_selection(selection)
    assert lines(selection) == ["second bold", "first", "part", "3"]


def test_a_pattern_takes_linear_time() -> None:
    page = f"<p>{'a' * 100_000}!</p>"
    assert lines(Selection(ignore_pattern=["(a+)+$"]), page) == ["a" * 100_000 + "!"]


def test_a_page_cannot_mark_what_an_xpath_finds() -> None:
    page = "<p webloom-found>not asked for</p><div>asked for</div>"
    assert lines(Selection(keep=["//div"]), page) == ["asked for"]
