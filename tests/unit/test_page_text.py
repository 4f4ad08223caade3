"""The text of a page: what is shown, one block a line, without what is on every page of a site."""

import pytest

from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.html_tree.structured import read_structured
from webloom.parsing.pages.addresses import Base, images_in, linked_of, links_in
from webloom.parsing.pages.markup import parse_markup
from webloom.parsing.pages.page_metadata import language_of, read_metadata, title_of
from webloom.parsing.pages.page_text import drop_unseen, find_surroundings, text_of

URL = "https://shop.test/a/page.html?x=1"
LOREM = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. " * 6


def shown(html: str) -> list[str]:
    """The lines of what is shown, menus and all."""
    tree = parse_markup(html)
    drop_unseen(tree)
    assert tree.body is not None
    text = text_of(tree.body.html or "")
    return text.split("\n") if text else []


def main_lines(html: str) -> list[str]:
    tree = parse_markup(html)
    drop_unseen(tree)
    for node in find_surroundings(tree).nodes:
        node.decompose(recursive=False)
    assert tree.body is not None
    return text_of(tree.body.html or "").split("\n")


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        pytest.param("<p>one</p><p>two</p>", ["one", "two"], id="blocks break lines"),
        pytest.param("<p>o<b>n</b><i>e</i></p>", ["one"], id="inline elements do not"),
        pytest.param("<div>a<p>b</p>c</div>", ["a", "b", "c"], id="text beside a block"),
        pytest.param("a<br>b<hr>c", ["a", "b", "c"], id="br and hr"),
        pytest.param("<ul><li>a<li>b</ul>", ["a", "b"], id="list without end tags"),
        pytest.param("<dl><dt>a<dd>b</dl>", ["a", "b"], id="definitions"),
        pytest.param(
            "<table><tr><th>Size<th>Price<tr><td>XL<td>9.99</table>",
            ["Size | Price", "XL | 9.99"],
            id="cells of a row are apart",
        ),
        pytest.param("<table><tr><td><td>a<td> </table>", ["a"], id="empty cells leave no trace"),
        pytest.param("<pre>a\n  b\n\nc</pre>", ["a", "b", "c"], id="lines of pre"),
        pytest.param("<p>a\nb\t c</p>", ["a b c"], id="line ends in a paragraph are spaces"),
        pytest.param("<p>a&nbsp;\u2003\u3000b\u200b\ufeffc</p>", ["a bc"], id="Unicode spaces"),
        pytest.param("<p>so\u00adft</p>", ["soft"], id="soft hyphen"),
        pytest.param(
            "<p>1 &lt; 2 &amp;amp; &amp;nbsp; &gt;</p>",
            ["1 < 2 &amp; &nbsp; >"],
            id="entities once",
        ),
        pytest.param('<p title="a > b <i>">x</p>', ["x"], id="angle brackets in an attribute"),
        pytest.param("<p>a<!-- <p>b</p> -->c</p>", ["ac"], id="comments"),
        pytest.param("<pre>a<!--\n-->\nb</pre>c\nd", ["a", "b", "c d"], id="comment in pre"),
        pytest.param("<script>x</script><style>y</style>z", ["z"], id="script and style"),
        pytest.param("<template>x</template><svg><text>y</text></svg>z", ["z"], id="template, svg"),
        pytest.param("<noscript><p>turn it on</p></noscript>z", ["z"], id="noscript"),
        pytest.param("<p hidden>x</p><p style='DISPLAY : none'>y</p>long enough", ["long enough"]),
        pytest.param("<p style='visibility:hidden'>x</p>long enough", ["long enough"]),
        pytest.param("<body style='display:none'><p>all</p>", ["all"], id="shown by a script"),
        pytest.param("<div hidden>the whole page</div>x", ["the whole page", "x"], id="most of it"),
        pytest.param("<dialog>x</dialog><dialog open>y</dialog>", ["y"], id="dialogs"),
        pytest.param("<button>Buy</button><button>Sell</button>", ["Buy", "Sell"], id="buttons"),
        pytest.param("<p>a\x00b\x01c</p>", ["abc"], id="control characters"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_text_is_read_as_a_person_sees_it(html: str, lines: list[str]) -> None:
    assert shown(html) == lines


@pytest.mark.parametrize(
    "surrounding",
    [
        "<nav><a href=/a>Home</a></nav>",
        "<header><a href=/>Shop</a> free delivery</header>",
        "<footer>Imprint</footer>",
        "<aside>Advertisement</aside>",
        "<div role=navigation>Home</div>",
        "<div role=contentinfo>Imprint</div>",
        "<div class=main-menu><ul><li><a href=/a>Shoes</a><li><a href=/b>Hats</a></ul></div>",
        "<div><div><ul id=breadcrumbs><li><a href=/a>Shoes</a></ul></div></div>",
        "<div id=cookie-banner>We value your privacy <button>OK</button></div>",
        "<div class='site-Consent'>" + "Vendor 1 " * 2000 + "</div>",
    ],
)
def test_what_is_on_every_page_is_dropped(surrounding: str) -> None:
    assert main_lines(f"{surrounding}<h1>Boots</h1><p>{LOREM}</p>") == ["Boots", LOREM.strip()]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"<nav><p>{LOREM}</p></nav>", id="a page that is all menu"),
        pytest.param("<header><h1>Boots</h1></header>", id="a header with the heading"),
        pytest.param("<aside><b itemprop=price>9.99</b></aside>", id="an aside with the price"),
        pytest.param("<article><header>By Ann</header>text</article>", id="header of an article"),
        pytest.param("<div class=cookie-recipe><h1>Cookies</h1></div>", id="cookies to eat"),
        pytest.param("<div class=card-footer>9.99 in stock</div>", id="a footer, not a menu"),
    ],
)
def test_content_is_never_taken_for_surroundings(content: str) -> None:
    beside = "" if "<nav>" in content else f"<p>{LOREM}</p>"
    assert main_lines(content + beside) == shown(content + beside)


def test_title_is_that_of_the_page_and_not_of_a_picture() -> None:
    html = "<svg><title>icon</title></svg><title> The\n page </title>"
    tree = parse_markup(f"<html><head>{html}")
    assert title_of(tree, read_structured(tree)) == "The page"
    tree = parse_markup("<svg><title>icon</title></svg><h1>Heading</h1>")
    assert title_of(tree, read_structured(tree)) == "Heading"


def test_links_are_absolute_and_each_is_there_once() -> None:
    tree = parse_markup(
        "<a href=/b>1</a><a href='b.html#top'>2</a><a href='#top'>3</a><a href='javascript:x()'>4"
        "</a><a href='mailto:a@b.c'>5</a><a href=/b>6</a><a href='//other.test'>7</a>"
        "<a href='?y=2'>8</a><a href='../up'>9</a><a href='ht\ntps://x.test/'>10</a><a href=''></a>"
        "<a href='http://user:pass@x.test/'>no</a><map><area href=/area></map>"
    )
    assert tree.root is not None
    assert links_in([tree.root], Base(tree, URL)) == [
        "https://shop.test/b",
        "https://shop.test/a/b.html",
        "https://other.test/",
        "https://shop.test/a/page.html?y=2",
        "https://shop.test/up",
        "https://x.test/",
        "https://shop.test/area",
    ]


def test_addresses_start_from_the_base_of_the_page() -> None:
    tree = parse_markup("<head><base href=//cdn.test/x/></head><a href=y>1</a><a href=/z>2</a>")
    assert tree.root is not None
    assert links_in([tree.root], Base(tree, URL)) == ["https://cdn.test/x/y", "https://cdn.test/z"]


def test_without_an_address_of_the_page_only_absolute_links_count() -> None:
    tree = parse_markup("<a href=y>1</a><a href=/z>2</a><a href=http://a.test>3</a>")
    assert tree.root is not None
    assert links_in([tree.root], Base(tree, "page.html")) == ["http://a.test/"]


@pytest.mark.parametrize(
    ("image", "address"),
    [
        ("<img src=a.png>", "a.png"),
        ("<img src='data:image/gif;base64,xx' data-src=a.png>", "a.png"),
        ("<img src=small.png srcset='s.png 320w, l.png 1280w, m.png 640w'>", "l.png"),
        ("<img srcset='s.png, l.png 2x'>", "l.png"),
        ("<img srcset='s.png 1x,l.png 2x'>", "l.png"),
        ("<img srcset='w_1,h_2/s.png 1x, w_2,h_4/l.png 2x'>", "w_2,h_4/l.png"),
        ("<img srcset='only.png'>", "only.png"),
        ("<img src='data:image/gif;base64,xx'>", None),
        ("<img>", None),
    ],
)
def test_of_an_image_the_best_address_is_taken(image: str, address: str | None) -> None:
    tree = parse_markup(image)
    assert tree.root is not None
    expected = [f"https://shop.test/a/{address}"] if address else []
    assert images_in([tree.root], Base(tree, URL)) == expected


def test_metadata_is_what_the_page_says_of_itself() -> None:
    tree = parse_markup(
        """<html lang=de_AT><head><title>T</title>
        <meta name=description content=" About\n boots ">
        <meta name=author content="Ann"><meta property=og:type content=article>
        <meta property=article:published_time content=2024-05-06T07:08:09Z>
        <link rel="Canonical" href="/boots"><link rel=alternate type=application/rss+xml href=/rss>
        <link rel=alternate hreflang=en href=/en>
        <script type=application/ld+json>{"@type": "Article", "headline": "Boots"}</script></head>
        <h1>Boots</h1><h2> </h2><h2>Care</h2><div itemscope itemtype=http://schema.org/Thing>
        <i itemprop=name>x</i></div>"""
    )
    structured = read_structured(tree)
    base = Base(tree, URL)
    assert read_metadata(tree, structured, base, language_of(tree, structured)) == {
        "description": "About boots",
        "canonical": "https://shop.test/boots",
        "language": "de-AT",
        "author": "Ann",
        "publishedAt": "2024-05-06T07:08:09Z",
        "openGraph": {"og:type": "article", "article:published_time": "2024-05-06T07:08:09Z"},
        "jsonLd": [{"@type": "Article", "headline": "Boots"}],
        "microdata": [{"@type": "Thing", "name": "x"}],
        "feeds": ["https://shop.test/rss"],
        "headings": ["Boots", "Care"],
    }


def test_a_page_that_says_nothing_has_no_metadata() -> None:
    tree = parse_markup("<p>x")
    assert read_metadata(tree, read_structured(tree), Base(tree, URL), None) == {}
    assert linked_of(Elements(tree), Base(tree, URL)) == (None, [])


def test_large_items_of_structured_data_are_left_out() -> None:
    large = '{"@type": "Product", "name": "%s"}' % ("x" * 15_000)
    small = '{"@type": "Product", "name": "y"}'
    scripts = "".join(
        f"<script type=application/ld+json>{item}</script>" for item in [large] * 10 + [small]
    )
    tree = parse_markup(scripts)
    metadata = read_metadata(tree, read_structured(tree), Base(tree, URL), None)
    assert [len(item["name"]) for item in metadata["jsonLd"]] == [15_000] * 4 + [1]
