"""A feed that is the text of an element of another document."""

from __future__ import annotations

from html import escape

import pytest

from unit.feed_postings import ReadPostings

JOBS = "".join(
    f"<job><id>{n}</id><title>Cook &amp; {n} ü</title><url>https://a.example/?a=1&amp;b={n}</url>"
    f"<description><![CDATA[<p>a & b</p>]]></description></job>\n"
    for n in range(3)
)
XML = f'<?xml version="1.0" encoding="utf-16"?>\n<jobs>{JOBS}</jobs>'
JSON = '[{"id": "0", "title": "Cook <i>&amp;</i> 0 ü", "url": "https://a.example/?a=1&b=0"}]'


@pytest.mark.parametrize(
    "body",
    [
        f'<?xml version="1.0" encoding="utf-8"?>\r\n<string xmlns="http://t/">{escape(XML)}</string>',
        f"<string>{escape(f'<jobs>{JOBS}</jobs>', quote=False)}</string>",
        f"<string>{escape(XML).replace(chr(10), '&#xD;&#10;')}</string>",
        f"<s:Envelope xmlns:s='x'><s:Body><R><T>{escape(XML)}</T></R></s:Body></s:Envelope>",
        "<string><![CDATA[" + XML.replace("<![CDATA[", "").replace("]]>", "") + "]]></string>",
        f"<string>{escape(JSON, quote=False)}</string>",
        f'<?xml version="1.0"?><string>{escape(JSON)}</string>',
    ],
    ids=["escaped", "no declaration", "line ends", "soap", "cdata", "json", "json with quotes"],
)
def test_a_feed_that_is_the_text_of_an_element_is_read(body: str) -> None:
    read = ReadPostings(body)
    first = read.postings[0]
    assert len(read.postings) == (1 if "Cook &lt;i" in body else 3)
    assert (first.external_id, first.title) == ("0", "Cook & 0 ü")
    assert first.job_url == "https://a.example/?a=1&b=0"
    assert read.is_whole


def test_a_reference_cut_between_two_pieces_is_put_together() -> None:
    records = "".join(
        f"<job><id>{n}</id><title>A &amp; B</title><url>https://a.example/{n}</url></job>"
        for n in range(9_000)
    )
    read = ReadPostings(f"<string>{escape(f'<jobs>{records}</jobs>')}</string>")
    assert len(read.postings) == 9_000
    assert {each.title for each in read.postings} == {"A & B"}


def test_a_record_that_begins_with_an_escaped_description_is_not_a_wrapped_feed() -> None:
    record = "<job><description>&lt;p&gt;a&lt;/p&gt;</description><title>A</title><id>1</id></job>"
    assert ReadPostings(f"<jobs>{record}</jobs>").only().description == "<p>a</p>"
