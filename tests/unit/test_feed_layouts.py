"""Records with the same tags are read in one step, and as if there were no such step."""

from __future__ import annotations

import pytest

from webloom.parsing.feeds.element import LaidOut, Record
from webloom.parsing.feeds.entities import References
from webloom.parsing.feeds.formats.synonyms import COMMON
from webloom.parsing.feeds.mapping import ANY_OF_OURS, FieldPaths, FieldTable
from webloom.parsing.feeds.repairs import Repairs
from webloom.parsing.feeds.tags import Tags
from webloom.parsing.feeds.tokens import Tokenizer

USUAL = (
    "<item><title>Cook</title>\n"
    '<guid isPermaLink="false">a-1</guid>\n'
    "<category>Food</category><category>Service</category>\n"
    "<job:company>Acme</job:company>\n"
    "<description><![CDATA[<p>Soup & more</p>]]></description></item>"
)


def tokenizer() -> tuple[Tokenizer, Repairs]:
    repairs = Repairs()
    return Tokenizer(Tags(repairs, References(repairs), {"job"})), repairs


def after_many() -> tuple[Tokenizer, Repairs]:
    reading, repairs = tokenizer()
    for _ in range(50):
        reading.parse(USUAL)
    return reading, repairs


def plain(record: Record) -> object:
    children = [(each.name, each.prefix, each.text, each.attributes) for each in record.children]
    return record.name, record.prefix, record.text, record.attributes, children


def table() -> FieldTable:
    paths = FieldPaths()
    paths.add({"externalId": ("guid",), "remote": ("guid/@ispermalink",)})
    paths.add({"categories": ("category", "guid/@ispermalink")})
    paths.add(COMMON, prefix=ANY_OF_OURS)
    return FieldTable(paths, {})


def test_records_with_the_same_tags_share_a_layout() -> None:
    reading, _ = after_many()
    first, second = reading.parse(USUAL), reading.parse(USUAL.replace("Cook", "Baker"))
    assert isinstance(first, LaidOut)
    assert isinstance(second, LaidOut)
    assert second.layout is first.layout


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Cook", "Baker"),
        ("Cook", "  R&amp;D, R&D, Caf&eacute;, &#0; \n "),
        ("Cook", ""),
        ("Cook", " \n "),
        ("Cook", "a ]]> b"),
        ("Cook", "<![CDATA[Cook]]>"),
        ("Cook", "<b>Cook</b>"),
        ("Cook", "a < b"),
        ("Soup", "]] > <![CDATA[ Soup"),
        ("Soup", "Soup</description>\n<description><![CDATA[Soup"),
        ("Soup", "]]> Soup"),
        ("Soup", "]]&gt; Soup"),
        ("<![CDATA[", " x <![CDATA["),
        ("]]>", "]]> y &amp;"),
        ("]]>", ""),
        ("<![CDATA[<p>Soup & more</p>]]>", "Soup &amp; more"),
        ("<![CDATA[<p>Soup & more</p>]]>", "<![CDATA[]]>"),
        ('"false"', '"true"'),
        ('"false"', '"a&b"'),
        ('"false"', "false"),
        ("</category>\n", "</category>\nstray"),
        ("</category>\n", "</category>\n<!-- note -->"),
        ("<category>Food</category>", ""),
        ("<category>Food</category>", "<category/>"),
        ("</title>\n", "</title >"),
        ("</title>\n", "\r\n</title>\r\n"),
        ("</title>\n", ""),
        ("<item>", '<item id="7">'),
        ("</item>", ""),
    ],
)
def test_a_record_is_read_the_same_after_many_others(before: str, after: str) -> None:
    text = USUAL.replace(before, after, 1)
    alone, alone_repairs = tokenizer()
    late, late_repairs = after_many()
    expected, found = alone.parse(text), late.parse(text)
    assert plain(found) == plain(expected)
    assert late_repairs == alone_repairs
    fields = table()
    fields.values(late.parse(USUAL))  # from which it knows where the fields are
    assert fields.values(found) == table().values(expected)


def test_a_feed_with_many_layouts_is_read() -> None:
    reading, repairs = after_many()
    for names in ("abc", "acb", "bac", "bca", "cab", "cba"):
        text = "".join(f"<{name}>{name}</{name}>" for name in names)
        for _ in range(30):
            record = reading.parse(f"<item>{text}</item>")
            assert [child.text for child in record.children] == list(names)
    assert not repairs
