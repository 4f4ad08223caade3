"""A whole page read: what a change is, bodies that are no HTML, and bodies made to hurt."""

import re
import string
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steps import at_most
from webloom.domain.errors import PageUnreadable
from webloom.domain.page import PageType, Selection
from webloom.domain.price import Availability
from webloom.parsing.pages.page import PageReading
from webloom.parsing.pages.reading import read_page

SPACES = " \t\n\r\f\u00a0\u2003\u2009\u3000\u200b\ufeff"


def read(
    body: bytes | str,
    content_type: str | None = "text/html; charset=utf-8",
    *,
    status_code: int = 200,
    selection: Selection | None = None,
) -> PageReading:
    return read_page(
        body.encode() if isinstance(body, str) else body,
        url="https://shop.test/boots",
        status_code=status_code,
        content_type=content_type,
        selection=selection or Selection(),
    )


def product(price: str, availability: str = "InStock", text: str = "Boots of leather") -> str:
    offer = f'"price": "{price}", "priceCurrency": "EUR", "availability": "{availability}"'
    return (
        '<script type=application/ld+json>{"@type": "Product", "name": "Boots", "offers":'
        f' {{"@type": "Offer", {offer}}}}}</script>'
        f"<title>Boots</title><h1>Boots</h1><p>{text}</p>"
    )


def test_a_product_page_is_read_whole() -> None:
    reading = read(product("9.99"))
    assert reading.parsed.title == "Boots"
    assert reading.parsed.text == "Boots\nBoots of leather"
    assert reading.classification.type is PageType.PRODUCT
    assert reading.price is not None
    assert (reading.price.current, reading.price.currency) == (Decimal("9.99"), "EUR")
    assert reading.availability is Availability.IN_STOCK


def test_text_price_and_availability_are_changes_and_nothing_else_is() -> None:
    before = read(product("9.99")).snapshot_hash
    assert read(product("9.9")).snapshot_hash == read(product("9.90")).snapshot_hash
    assert read(product("9.98")).snapshot_hash != before
    assert read(product("9.99", "OutOfStock")).snapshot_hash != before
    assert read(product("9.99", text="Boots of rubber")).snapshot_hash != before
    same = [
        product("9.99").replace("<title>Boots", "<title>(1) Boots"),
        product("9.99").replace("<p>", "<p class=new data-id=7>"),
        product("9.99") + "<script>counter = 5</script><!-- served by host 7 -->",
        product("9.99") + "<img src=/banner.png><a href=/new></a>",
        "<nav>New menu</nav>" + product("9.99"),
    ]
    assert {read(page).snapshot_hash for page in same} == {before}


@pytest.mark.parametrize("status_code", [403, 404, 503])
def test_a_wall_says_nothing_of_price_and_stock(status_code: int) -> None:
    reading = read(product("9.99", "OutOfStock"), status_code=status_code)
    assert (reading.price, reading.availability) == (None, Availability.UNKNOWN)


words = st.lists(st.text(string.ascii_letters + "é€", min_size=1), min_size=1, max_size=6)
space = st.text(SPACES, max_size=4)


@given(paragraphs=st.lists(words, min_size=1, max_size=5), data=st.data())
def test_white_space_is_never_a_change(paragraphs: list[list[str]], data: st.DataObject) -> None:
    def drawn() -> str:
        return str(data.draw(space))

    plain = "".join(f"<p>{' '.join(line)}</p>" for line in paragraphs)
    spaced = "".join(
        f"{drawn()}<p>{drawn()}{''.join(f'{word} {drawn()}' for word in line)}</p>{drawn()}"
        for line in paragraphs
    )
    assert read(spaced).snapshot_hash == read(plain).snapshot_hash


@pytest.mark.parametrize(
    ("body", "content_type", "lines"),
    [
        pytest.param("a\r\n\r\n  b c\n", "text/plain", ["a", "b c"], id="plain text"),
        pytest.param("<p>not parsed</p>", "text/plain", ["<p>not parsed</p>"], id="plain markup"),
        pytest.param(
            '{"b":1,"a":[1]}', "application/json", ["{", '"a": [', "1", "],", '"b": 1', "}"]
        ),
        pytest.param('{"a":1', "application/json", ['{"a":1'], id="broken JSON"),
        pytest.param("[" * 9999, "application/json", ["[" * 9999], id="deep JSON"),
        pytest.param(
            "<rss><title>News</title><item><title>A &amp; B</title><description>"
            "<![CDATA[<p>x</p>]]></description></item></rss>",
            "application/rss+xml",
            ["News", "A & B", "x"],
            id="feed",
        ),
        pytest.param("<?xml version='1.0'?><a>x</a>", None, ["x"], id="XML by its look"),
        pytest.param("a,b\n1,2", "text/csv", ["a,b", "1,2"], id="CSV"),
        pytest.param("<p>x</p>", None, ["x"], id="HTML by its look"),
        pytest.param("hello", None, ["hello"], id="plain by its look"),
        pytest.param("<html><p>x", "application/xhtml+xml", ["x"], id="XHTML"),
    ],
)
def test_bodies_other_than_html_are_read_as_text(
    body: str, content_type: str | None, lines: list[str]
) -> None:
    assert read(body, content_type).parsed.text.split("\n") == lines


def test_reordered_json_keys_are_not_a_change() -> None:
    one, other = '{"a": 1, "b": {"c": 2, "d": 3}}', '{"b":{"d":3,"c":2},"a":1}'
    hashes = {read(body, "application/json").snapshot_hash for body in (one, other)}
    assert len(hashes) == 1


def test_a_document_is_classified_by_its_status() -> None:
    assert read("{}", "application/json").classification.type is PageType.OTHER
    blocked = read("{}", "application/json", status_code=429).classification
    assert blocked.type is PageType.BLOCKED
    assert read("", "text/plain", status_code=404).classification.type is PageType.ERROR


def test_lines_of_other_documents_are_ignored_too() -> None:
    reading = read("a\nb 12\n", "text/plain", selection=Selection(ignore_pattern=[r"\d"]))
    assert reading.parsed.text == "a"


def test_selectors_find_parts_of_xml_but_not_of_json() -> None:
    feed = "<rss><item><name>a</name></item><item><name>b</name></item></rss>"
    for selector in ("item name", "//item/name"):
        reading = read(feed, "application/rss+xml", selection=Selection(keep=[selector]))
        assert reading.parsed.text == "a\nb"
    with pytest.raises(PageUnreadable, match="this is JSON"):
        read("{}", "application/json", selection=Selection(keep=["p"]))


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"%PDF-1.7", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "image/png"),
        (b"\x00\x01\x02" * 100, "application/octet-stream"),
        (b"\x00\x01\x02" * 100, None),
        (b"\x00" * 2000, "text/html"),
    ],
)
def test_binary_bodies_are_unreadable(body: bytes, content_type: str | None) -> None:
    with pytest.raises(PageUnreadable, match="is not text"):
        read(body, content_type)


def test_bytes_that_do_not_fit_their_encoding_are_replaced() -> None:
    body = b"<meta charset=utf-8><p>caf\xe9 \xff\xfe\x00ok</p>"
    assert read(body, "text/html").parsed.text == "caf\ufffd \ufffd\ufffdok"


HOSTILE = {
    "attributes": "<div " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x</div>",
    "attributes that hold >": "<div " + " ".join(f"a{n}='>'" for n in range(100_000)) + ">x</div>",
    "attributes that hold <": "<div "
    + " ".join(f'a{n}="<b>"' for n in range(100_000))
    + ">x</div>",
    "attributes without end": "<div " + " ".join(f"a{n}" for n in range(200_000)),
    "attributes after a script": f"<script>if (a<b) c = '{'x ' * 2000}'</script><div "
    + " ".join(f"a{n}" for n in range(600))
    + ">x</div>",
    "nested divs": "<div>" * 100_000 + "x",
    "nested unknown elements": "<x><y>" * 60_000 + "x",
    "nested with wrong ends": "<div></span>" * 50_000 + "x",
    "nested tables": "<table><tr><td>" * 30_000 + "x",
    "too much text": "lorem ipsum " * 5_000_000,
    "too many tags": "<p>x" * 600_000,
    "too much text in lines": "<p>" + "lorem ipsum dolor\n" * 400_000,
}
STRANGE = {
    "a large attribute": (f"<div data-state='{'x y=1 ' * 50_000}'>x</div>", "x"),
    "a script like a tag": (f"<script>if (a<b) c = [{'1 , ' * 50_000}]</script>x", "x"),
    "a large script": (f"<script>var a = '{'b c d ' * 100_000}'</script>x", "x"),
    "unclosed paragraphs": ("<p>a" * 30_000, "\n".join("a" * 30_000)),
    "unclosed list": ("<ul>" + "<li>a" * 30_000, "\n".join("a" * 30_000)),
    "comments": ("<!-- -->" * 100_000 + "x", "x"),
    "unclosed comments": ("<!--" * 100_000 + "x", ""),
    "angle brackets": ("<" * 400_000, "<" * 400_000),
    "formatting": ("<b><i><u>" * 5000 + "x", "x"),
    "misnested formatting": ("<b><p>" * 3000 + "x", "x"),
    "deep but small": ("<div>" * 5000 + "x", "x"),
    "NUL bytes": ("<p>a\x00b</p>" + "x" * 2000 + "\x00" * 5000, "ab\n" + "x" * 2000),
    "entities": ("&amp;" * 300_000, "&" * 300_000),
    "one long line": ("a" * 3_000_000, "a" * 3_000_000),
    "srcset": (f"<img srcset='{'a.png 1x, ' * 50_000}'>x", "x"),
    "many links": ("".join(f"<a href=/{n}>x</a>" for n in range(20_000)), "x" * 20_000),
    "JSON-LD": (f"<script type=application/ld+json>{'[' * 50_000}</script>x", "x"),
    "surrogates": ("<p>&#xd800;&#x110000;x</p>", "\ufffd\ufffdx"),
    "frames": ("<frameset><frame src=x></frameset>", ""),
    "template": ("<template>" * 3000 + "x", ""),
    "select": ("<select>" + "<option>x" * 30_000, "\n".join("x" * 30_000)),
    "buttons": (
        "<button onclick=buy() class=btn>buy now</button>" * 20_000,
        "\n".join(["buy now"] * 20_000),
    ),
    "hidden": ("<p hidden>x</p>" * 30_000, ""),
    "roles": ("<div role=menu>x</div>" * 30_000, "\n".join("x" * 28_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_made_to_hurt_is_refused_before_it_does(name: str) -> None:
    with pytest.raises(PageUnreadable, match="the page"):
        read(HOSTILE[name])


@pytest.mark.timeout(60)  # of the C code that steps don't count
@pytest.mark.parametrize(("page", "text"), STRANGE.values(), ids=STRANGE.keys())
def test_a_strange_page_is_read_in_few_steps(page: str, text: str) -> None:
    with at_most(4_000_000):
        found = read(page).parsed.text
    assert (len(found), found[:99]) == (len(text), text[:99])  # a diff of all would take minutes


MARKUP = re.findall(
    r"\S+",
    """<p> </p> <table> <td> <a/href=' '> <!-- --> <script> </script> < <svg> <math> <select>
    <template> &lt; x " </body> <frameset> <base/href=: <img/srcset=,""",
)


@given(
    body=st.one_of(
        st.binary(max_size=400),
        st.text(max_size=200).map(str.encode),
        st.lists(
            st.sampled_from(MARKUP),
            max_size=40,
        ).map(lambda parts: "".join(parts).encode()),
    ),
    content_type=st.sampled_from(
        [None, "", "text/html", "text/html; charset=utf-16", "application/json", "text/xml", ";;"]
    ),
    selection=st.sampled_from(
        [Selection(), Selection(keep=["p"], drop=["a"]), Selection(keep=["//p"], drop=["//a"])]
    ),
)
def test_any_body_is_read_or_unreadable(
    body: bytes, content_type: str | None, selection: Selection
) -> None:
    try:
        text = read(body, content_type, selection=selection).parsed.text
    except PageUnreadable as error:
        text = str(error)
    assert text.encode("utf-8").decode("utf-8") == text
