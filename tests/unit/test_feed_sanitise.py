"""Descriptions and titles are made harmless, and keep their text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unit.feed_postings import ReadPostings
from webloom.parsing.feeds.sanitise import (
    LONGEST_DESCRIPTION,
    MOST_TAGS,
    Markup,
    cleaner,
    description,
    is_html,
    one_line,
    plain,
    scrub,
)

CLEAN = cleaner("https://board.example/jobs/")
DESCRIPTIONS = [
    ("a < b & c", "a < b & c", "plain text with characters of markup"),
    ("List<String> or x <y", "List<String> or x <y", "brackets that are not tags of HTML"),
    ("if a<b and c=d", "if a<b and c=d", "a bracket that does not close"),
    ("R&D; AT&T", "R&D; AT&T", "ampersands"),
    ("R&amp;D &eacute;", "R&D é", "plain text that was escaped as HTML"),
    ("one\r\ntwo\n \n\n\nthree ", "one\ntwo\n\nthree", "line breaks stay, one blank line at most"),
    ("<p>Hello</p>", "<p>Hello</p>", "HTML"),
    ("&lt;p&gt;Hello &amp;amp; co&lt;/p&gt;", "<p>Hello &amp; co</p>", "HTML, escaped once more"),
    ("<p>use &lt;b&gt;</p>", "<p>use &lt;b&gt;</p>", "HTML about HTML"),
    ("<P CLASS=x>Hi", "<p>Hi</p>", "attributes go, what is open is closed"),
    ("<p>a</div></p>", "<p>a</p>", "what was never opened goes"),
    ("<script>bad()</script>Hi", "Hi", "scripts go with what is in them"),
    ("<style>p{}</style><p>Hi</p>", "<p>Hi</p>", "so do styles"),
    ("<iframe src=//e.example>x</iframe>Hi", "Hi", "and frames"),
    ("<form action=/x><p>Hi</p><input></form>", "<p>Hi</p>", "forms go, their text stays"),
    ("<b onclick='x()'>Hi</b>", "<b>Hi</b>", "handlers go"),
    ("<foo onclick='x()'>Hi</foo>", "Hi", "handlers on unknown tags too"),
    ("<svg/onload=x()>Hi", "", "what browsers would act on"),
    ("<a href='javascript:x()'>Hi</a>", '<a rel="nofollow noopener">Hi</a>', "no script in links"),
    (
        '<a href="https://e.example/">Hi</a>',
        '<a href="https://e.example/" rel="nofollow noopener">Hi</a>',
        "links say that they are not ours",
    ),
    (
        '<a href="7">Hi</a>',
        '<a href="https://board.example/jobs/7" rel="nofollow noopener">Hi</a>',
        "relative links begin from the feed's",
    ),
    ('<img src="data:x" alt="a">', '<img alt="a">', "images only from the web"),
    ('<img src="//e.example/a.png">', '<img src="https://e.example/a.png">', "of the feed's kind"),
    ("<xhtml:p>Hi</xhtml:p>", "<p>Hi</p>", "XHTML with a prefix"),
    ("<foo onclick='x()'>R&amp;D</foo>", "R&D", "plain text, once its markup is gone"),
    ("a<!-- secret --><br>b", "a<br>b", "comments go"),
    ("<![CDATA[<p>Hi</p>]]>", "<p>Hi</p>", "a CDATA section that was text"),
]


@pytest.mark.parametrize(("text", "expected", "reason"), DESCRIPTIONS)
def test_a_description_is_cleaned_or_stays_plain_text(
    text: str, expected: str, reason: str
) -> None:
    assert description(text, CLEAN, Markup()) == expected, reason


LINES = [
    ("  Head\n of\tR&D ", "Head of R&D", "one line"),
    ("Caf&eacute; &amp;amp; Bar", "Café &amp; Bar", "entities are resolved once more, not twice"),
    ("<b>Chef</b> <i>de</i> rang", "Chef de rang", "no markup"),
    ("&lt;b&gt;Chef&lt;/b&gt;", "Chef", "no escaped markup"),
    ("Chef<br>Cook", "Chef Cook", "a break divides words"),
    ("Engineer C++ <T> & Rust<'a>", "Engineer C++ <T> & Rust<'a>", "brackets that are not tags"),
    ("Dev (&lt;1 year)", "Dev (<1 year)", "a lesser sign"),
    ("a&#8203;&nbsp;b", "a\u200b b", "blanks of all kinds"),
]


@pytest.mark.parametrize(("text", "expected", "reason"), LINES)
def test_a_title_becomes_one_line_of_plain_text(text: str, expected: str, reason: str) -> None:
    assert one_line(text) == expected, reason


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("<![CDATA[R&D <![CDATA[Lead]]>]]>", "R&D Lead"),
        ("Cook &lt;xss onfocus=alert(1)&gt;now", "Cook now"),
    ],
)
def test_a_title_has_neither_sections_nor_handlers(title: str, expected: str) -> None:
    record = f"<item><title>{title}</title><guid>1</guid></item>"
    assert ReadPostings(f"<rss><channel>{record}</channel></rss>").only().title == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * 3_000_000, "plain text without a blank"),
        ("word " * 600_000, "plain text"),
        ("<p>word &amp; word</p>" * 9_000 + "y" * 2_000_000, "HTML"),
        ("<p>" + "&" * 2_000_000, "HTML that grows when it is cleaned"),
        ("<div>" * 400_000, "more tags than can be cleaned in time"),
        ("&lt;p&gt;" * 300_000, "the same, escaped"),
    ],
)
def test_a_description_is_bounded(text: str, reason: str) -> None:
    cut = description(text, CLEAN, Markup())
    assert len(cut) <= LONGEST_DESCRIPTION, reason
    assert not re.search(r"<[^>]*$|&[a-z]*$", cut), "cut at a safe place"


def test_too_many_tags_leave_the_text() -> None:
    assert description("<b>one</b> " * MOST_TAGS, CLEAN, Markup()).startswith("one one one")


def test_a_sample_is_plain_text() -> None:
    assert plain("<p>a &amp; <b>b</b></p><script>x</script><img src='cut").split() == [
        "a",
        "&",
        "b",
    ]


def test_characters_that_databases_refuse_are_dropped() -> None:
    assert scrub("a\x00b\ud800c\x1fd\ne\tf\uffff") == "abcd\ne\tf"


PIECES = [
    *(
        "<",
        ">",
        "&lt;",
        "&gt;",
        "&amp;",
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<foo",
        "<svg",
        "<!--",
        "-->",
    ),
    *("<script>", "</script>", "<a href=", "javascript:", " onload=", "x", "'", '"', "/", "=", " "),
    *("<![CDATA[", "]]>"),
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(HOSTILE)
def test_nothing_that_leaves_starts_a_script(text: str) -> None:
    shown = description(text, CLEAN, Markup())
    assert "<script" not in shown.lower()
    without_values = re.sub(r'"[^"]*"', '""', shown)
    assert not re.search(r"<[^<>]*[\s/\"']on\w+\s*=[^<>]*>", without_values)
    if is_html(shown):
        assert CLEAN(shown) == shown


USUAL = [
    (
        '<p class="x" style="color:red">Hi <a class="b" href="https://a.example/?x=1&amp;y=2">you</a></p>',
        '<p>Hi <a href="https://a.example/?x=1&amp;y=2" rel="nofollow noopener">you</a></p>',
    ),
    ("<p>a</p><br><p><b>b</b></p>", "<p>a</p><br><p><b>b</b></p>"),
    (
        '<a href="http://a.example/">1</a><a href="http://a.example/">2</a>',
        '<a href="http://a.example/" rel="nofollow noopener">1</a>'
        '<a href="http://a.example/" rel="nofollow noopener">2</a>',
    ),
]


@pytest.mark.parametrize(("text", "expected"), USUAL)
def test_the_usual_markup_is_simplified_as_the_cleaner_would(text: str, expected: str) -> None:
    assert description(text, CLEAN, Markup()) == expected


TEMPLATE = (
    '<p class="x">One <b>two</b></p>\n<p class="x">Three</p>'
    '<ul><li>four <a class="b" href="https://a.example/1">five</a></li></ul><br>six'
)


def after_many() -> Markup:
    markup = Markup()
    for number in range(30):
        description(TEMPLATE.replace("/1", f"/{number}"), CLEAN, markup)
    return markup


def test_descriptions_with_the_same_tags_share_a_template() -> None:
    markup = after_many()
    [template] = markup._templates
    text = TEMPLATE.replace("One", "A < B".replace("<", "&lt;"))
    assert template.simplified(text) == description(text, CLEAN, Markup())


ANYTHING = ["<", ">", "&", '"', "<b>", "</b>", "<p>", "</p>", "<br>", "<i>x</i>", " onclick=x", "x",
            '<a href="javascript:x">', '<a href="https://b.example/">y</a>', "<script>", "\n", "'",
            "<!--", " href=", "`", " "]  # fmt: skip


@given(st.sampled_from(ANYTHING), st.integers(0, len(TEMPLATE)), st.integers(0, 3))
def test_a_description_is_cleaned_the_same_after_many_others(more: str, at: int, cut: int) -> None:
    text = TEMPLATE[:at] + more + TEMPLATE[at + cut :]
    assert description(text, CLEAN, AFTER_MANY) == description(text, CLEAN, Markup())


AFTER_MANY = after_many()

NOT_SO_USUAL = [
    '<p onclick="x()">a</p>',
    '<a href="javascript:x()">a</a>',
    '<a href="https://a.example/" onclick="x()">a</a>',
    '<a href="&#106;avascript:x()">a</a>',
    '<a href="https://a.example/`x">a</a>',
    '<p title="a>b<script>x</script>">a</p>',
    "<p class='x' onmouseover=x>a</p>",
    '<p class="x"onclick="y">a</p>',
    "<script>x</script>",
    '<abbr class="a">a</abbr>',
    '<a name="x">a</a>',
    "<p/onclick=x>a</p>",
    '<img class="x">',
]


@pytest.mark.parametrize("text", NOT_SO_USUAL)
def test_what_is_unusual_goes_through_the_cleaner(text: str) -> None:
    cleaned = description(f"<p>{text}</p>", CLEAN, Markup())
    for bad in ("onclick", "javascript", "<script", "onmouseover", "class="):
        assert bad not in cleaned


SIMPLE_PIECES = [
    "<p>", "</p>", '<p class="a">', '<a href="https://x.example/">', "</a>", "<a>", "<br>", "<b>",
    '<a href="https://x.example/" rel="y">', "</b>", "text", '"', "<", ">", " x=",
]  # fmt: skip


@given(st.lists(st.sampled_from(SIMPLE_PIECES)))
def test_simplified_markup_has_nothing_for_the_cleaner_to_remove(pieces: list[str]) -> None:
    once = description("".join(pieces), CLEAN, Markup())
    tags = re.findall(r"</?[a-zA-Z][^>]*>", once)
    allowed = {"<p>", "</p>", "</a>", "<a>", "<br>", "<b>", "</b>"}
    link = '<a href="https://x.example/" rel="nofollow noopener">'
    assert set(tags) <= {*allowed, link, '<a rel="nofollow noopener">'}


def test_markup_that_never_ends_is_looked_through_once() -> None:
    """Looking for the end of each of a million brackets would take a quarter of an hour."""
    assert Markup().simplified("<" * 1_000_000) is None
