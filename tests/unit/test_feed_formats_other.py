"""Layouts without a format of their own, which the common names have to be enough for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from feed_postings import Read

LAYOUTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ids as attributes, dates with dots, a region for a place": (
        "generic",
        '<jobs><job id="1"><link>https://a.example/1</link><name>Cook</name><region>Kyiv</region>'
        "<salary>1000 USD</salary><pubdate>02.03.2024</pubdate><expire>02.04.2024</expire></job>"
        '<job id="2"><link>https://a.example/2</link><name>Maid</name></job></jobs>',
        {
            "externalId": "1",
            "title": "Cook",
            "location": "Kyiv",
            "publishedAt": "2024-03-02T00:00:00Z",
            "expiresAt": "2024-04-02T00:00:00Z",
        },
    ),
    "one record, in a root of no known name": (
        "generic",
        "<trove><ad><id>7</id><url>https://t.example/7</url><title>Cook</title>"
        "<content>Text</content><city>Madrid</city><contract>indefinido</contract></ad></trove>",
        {"externalId": "7", "jobType": "permanent", "description": "Text", "location": "Madrid"},
    ),
    "RSS with places in a namespace of its own": (
        "rss",
        '<rss xmlns:tt="https://tt.example"><channel><item><title>Dev</title><guid>a</guid>'
        "<remoteStatus>fully</remoteStatus><tt:locations><tt:location><tt:name>HQ</tt:name>"
        "<tt:city>Oslo</tt:city><tt:country>Norway</tt:country></tt:location></tt:locations>"
        "<tt:department>IT</tt:department></item></channel></rss>",
        {"location": "Oslo, Norway", "city": "Oslo", "remote": True, "categories": ["IT"]},
    ),
    "RSS with a list of tags": (
        "rss",
        "<rss><channel><item><title>Dev</title><guid>r1</guid><company>C</company>"
        "<tags>dev, js</tags><location>Worldwide</location></item></channel></rss>",
        {"company": "C", "categories": ["dev", "js"], "remote": True},
    ),
    "pay in parts": (
        "indeed",
        "<source><job><title>Cook</title><jobid>5</jobid><dateposted>03/04/2024</dateposted>"
        "<salary><min>10</min><max>12</max><currency>USD</currency><period>hour</period></salary>"
        "</job></source>",
        {
            "externalId": "5",
            "salary": {"min": 10, "max": 12, "currency": "USD", "period": "hour"},
            "publishedAt": "2024-03-04T00:00:00Z",
        },
    ),
    "JSON whose title is called text": (
        "json-feed",
        '[{"id": "u1", "text": "Engineer", "hostedUrl": "https://l.example/1", "categories":'
        '{"location": "Paris", "commitment": "Full-time"}, "createdAt": 1710244800000,'
        '"description": "<div>Rich</div>"}]',
        {
            "title": "Engineer",
            "jobUrl": "https://l.example/1",
            "location": "Paris",
            "jobType": "full-time",
            "publishedAt": "2024-03-12T12:00:00Z",
        },
    ),
    "JSON with HTML that is escaped": (
        "json-feed",
        '{"jobs": [{"absolute_url": "https://g.example/1", "location": {"name": "Berlin"}, "id": 9,'
        '"title": "Eng", "content": "&lt;p&gt;Hi&lt;/p&gt;", "departments": [{"id": 5, "name":'
        '"R&D"}]}]}',
        {
            "externalId": "9",
            "location": "Berlin",
            "description": "<p>Hi</p>",
            "categories": ["R&D"],
        },
    ),
    "the words of schema.org": (
        "json-feed",
        '{"items": [{"title": "X", "identifier": {"name": "ats", "value": "77"},'
        '"hiringOrganization": {"name": "Org"}, "jobLocation": {"address": {"addressLocality":'
        '"Rome", "addressCountry": "IT"}}, "baseSalary": {"currency": "EUR", "value": {"minValue":'
        '10, "maxValue": 12, "unitText": "HOUR"}}, "employmentType": ["FULL_TIME", "INTERN"]}]}',
        {
            "externalId": "77",
            "company": "Org",
            "location": "Rome, IT",
            "salary": {"min": 10, "max": 12, "currency": "EUR", "period": "hour"},
            "jobType": "full-time, internship",
        },
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_no_format(layout: str) -> None:
    name, feed, expected = LAYOUTS[layout]
    read = Read(feed)
    assert read.format == name
    shown = msgspec.to_builtins(read.items[0])
    assert {field: shown.get(field) for field in expected} == expected
