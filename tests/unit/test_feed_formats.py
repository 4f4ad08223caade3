"""Each format by a feed as its boards write it: it is detected, and its record is a posting."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from unit.feed_postings import ReadPostings, job, rss_item
from webloom.domain.errors import FeedUnreadable
from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats import FORMATS, check_format, detect

RSS = """
<?xml version="1.0"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>Museum jobs</title><link>https://museum.example/jobs/</link>
<item><title>Conservator &#8211; Paper &amp; Prints</title><link>/jobs/17</link>
<guid isPermaLink="false">job-17</guid><pubDate>Tue, 12 Mar 2024 09:30:00 +0100</pubDate>
<dc:creator>National Museum</dc:creator><category>Heritage</category><category>Paper</category>
<media:title>A picture</media:title><description>In short.</description>
<content:encoded><![CDATA[<p onclick="x()">Care for <b>prints</b>.</p><script>bad()</script>]]>
</content:encoded>
</item></channel></rss>
"""
RDF = """
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
  xmlns:d="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://a.example/"><title>A</title><link>https://a.example/</link></channel>
<item rdf:about="https://a.example/1"><title>Clerk</title><link>https://a.example/1</link>
<d:date>2024-03-12T10:11+01:00</d:date><d:subject>Office</d:subject></item></rdf:RDF>
"""
WP_JOB_MANAGER = """
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:job_listing="https://remote.example">
<channel><title>Remote board</title><link>https://remote.example</link>
<item><title>Data Engineer</title><link>https://remote.example/job/9</link>
<guid isPermaLink="false">https://remote.example/?post_type=job_listing&amp;p=9</guid>
<pubDate>Sat, 02 Mar 2024 00:00:00 +0000</pubDate>
<description>Short</description>
<content:encoded><![CDATA[&lt;p&gt;Pipelines &amp;amp; lakes&lt;/p&gt;]]></content:encoded>
<job_listing:location><![CDATA[Anywhere]]></job_listing:location>
<job_listing:job_type><![CDATA[Full Time]]></job_listing:job_type>
<job_listing:company><![CDATA[Smith &amp; Sons]]></job_listing:company></item></channel></rss>
"""
WE_WORK_REMOTELY = """
<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss"><channel>
<title>We Work Remotely: Programming</title><link>https://weworkremotely.com/</link>
<item><media:content url="https://w.example/logo.gif" type="image/gif"/>
<title>Blue Ocean: Backend: Payments</title><region>Anywhere in the World</region>
<category>Back-End</category><type>Contract</type>
<pubDate>Mon, 04 Mar 2024 12:00:00 +0000</pubDate><expires_at>April 3, 2024</expires_at>
<guid>https://weworkremotely.com/remote-jobs/1</guid>
<link>https://weworkremotely.com/remote-jobs/1</link>
<description>&lt;div&gt;Pay&lt;/div&gt;</description>
</item></channel></rss>
"""
ATOM = """
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>Openings</title>
<link rel="self" href="https://o.example/atom"/><id>urn:o</id>
<entry xml:base="https://o.example/jobs/">
<id>urn:o:5</id><title type="html">Cook &amp;amp; Baker</title>
<link rel="self" href="5.atom"/><link rel="alternate" type="text/html" href="5"/>
<author><name>Corner Bakery</name></author><category term="food" label="Food"/>
<published>2024-03-01T05:00:00Z</published><updated>2024-03-09T05:00:00Z</updated>
<content type="xhtml">
<div xmlns="http://www.w3.org/1999/xhtml"><p>Early <em>hours</em></p></div></content>
</entry></feed>
"""
JSON_FEED = """
{"version": "https://jsonfeed.org/version/1.1", "title": "J", "home_page_url": "https://j.example/",
 "items": [{"id": 12, "url": "https://j.example/12", "title": "Tester", "tags": ["qa", "web"],
 "content_html": "<p>Break <i>things</i></p>", "date_published": "2024-03-12T10:11:12+02:00",
 "authors": [{"name": "J Ltd"}]}]}
"""
INDEED = """
<source><publisher>ATS</publisher><publisherurl>https://ats.example</publisherurl>
<job><title><![CDATA[Nurse]]></title><date><![CDATA[Fri, 15 Mar 2024 08:00:00 EST]]></date>
<referencenumber><![CDATA[N-1]]></referencenumber><requisitionid>R9</requisitionid>
<url><![CDATA[https://ats.example/n1?a=1&amp;b=2]]></url><company><![CDATA[St. Mary]]></company>
<city>Austin</city><state>TX</state><country>US</country><postalcode>73301</postalcode>
<description><![CDATA[Care for a < b & c]]></description>
<salary>$85,000 - $100,000 per year</salary><jobtype>fulltime, contract</jobtype>
<category>Health, Care,Health</category>
<remotetype>Hybrid remote</remotetype><expirationdate>04/15/2024</expirationdate></job></source>
"""
ZIPRECRUITER = """
<Source><Job><ReferenceNumber>Z1</ReferenceNumber><Title>Driver</Title><Company>Haul</Company>
<City>Reno</City><State>NV</State><Country>US</Country><Date>2024-03-12 10:00:00 PDT</Date>
<Category>Logistics</Category><Description>Drive.</Description></Job></Source>
"""
LINKEDIN = """
<source><lastBuildDate>x</lastBuildDate><expectedJobCount>1</expectedJobCount>
<job><partnerJobId>P-7</partnerJobId><company>Orbit</company><companyId>99</companyId>
<title>Analyst</title><description><![CDATA[<p>Numbers</p>]]></description>
<applyUrl>https://orbit.example/apply/7</applyUrl><location>Lyon, France</location>
<isRemote>false</isRemote><jobtype>FULL_TIME</jobtype><listDate>2024-03-12</listDate>
<salaries><salary><lowEnd><amount>40000</amount><currencyCode>EUR</currencyCode></lowEnd>
<highEnd><amount>50000.50</amount><currencyCode>EUR</currencyCode></highEnd>
<period>YEARLY</period></salary></salaries></job></source>
"""
ADZUNA = """
<jobs><job><id>a1</id><title>Plumber</title><url>https://p.example/1</url><company>Pipes</company>
<location>Leeds</location><country>UK</country><contract_type>permanent</contract_type>
<contract_time>full_time</contract_time><salary_min>30000</salary_min><salary_max>35000</salary_max>
<salary_currency>GBP</salary_currency><salary_frequency>annum</salary_frequency>
<geo_lat>53</geo_lat><date>12/03/2024</date><description>Fix</description></job></jobs>
"""
REMOTIVE = """
<data><jobs><job><job-id>321</job-id><title>Writer</title><company-name>Words</company-name>
<candidate-location-restriction>Europe</candidate-location-restriction>
<hq-location>Oslo</hq-location><job-type>freelance</job-type><salary>$40/hr</salary>
<publication-date>2024-03-12T10:11:12</publication-date><url>https://r.example/321</url>
<description>&lt;p&gt;Write&lt;/p&gt;</description></job></jobs></data>
"""
PERSONIO = """
<workzag-jobs><position><id>55</id><subcompany>Acme SE</subcompany><office>Munich</office>
<additionalOffices><office>Berlin</office></additionalOffices><department>IT</department>
<name>Admin (m/w/d)</name><jobDescriptions>
<jobDescription><name>Your tasks</name>
<value><![CDATA[<ul><li>Run & fix</li></ul>]]></value></jobDescription>
<jobDescription><name>Profile</name><value>Calm</value></jobDescription></jobDescriptions>
<employmentType>permanent</employmentType><schedule>full-time</schedule>
<createdAt>2024-03-12T10:11:12+01:00</createdAt></position></workzag-jobs>
"""
CAREERJET = """
<jobs><job><id>c9</id><title>Baker</title><company>Pain</company><url>https://c.example/9</url>
<apply_url>https://c.example/9/apply</apply_url>
<location><city>Nantes</city><region>Loire</region><country>France</country></location>
<contract_type>CDI</contract_type><working_hours>temps plein</working_hours></job></jobs>
"""
JOBRAPIDO = """
<source><jobs><job><reference_id>jr4</reference_id><title>Cuoco</title><url>https://i.example/4</url>
<company>Trattoria</company><location>Roma</location><state>Lazio</state><country>IT</country>
<jobtype>part-time</jobtype><publishdate>03/04/2024</publishdate></job></jobs></source>
"""
WHATJOBS = """
<jobs><publisher>WhatJobs partner</publisher><job id="w-3"><title>Guard</title>
<link>https://w.example/3</link><company>Safe</company><location>Hull</location></job></jobs>
"""
JOBFRONT = """
<jobs><job><id>f1</id><title>Clerk</title><url>https://f.example/1</url>
<description>One line.</description><post>The <![CDATA[<p>whole</p>]]> story.</post></job></jobs>
"""


def utc(*parts: int) -> str:
    return datetime(*parts, tzinfo=UTC).isoformat().replace("+00:00", "Z")  # type: ignore[misc,arg-type]


EXPECTED: dict[str, tuple[str, dict[str, Any]]] = {
    "rss": (
        RSS,
        {
            "externalId": "job-17",
            "title": "Conservator – Paper & Prints",  # noqa: RUF001
            "jobUrl": "https://museum.example/jobs/17",
            "company": "National Museum",
            "categories": ["Heritage", "Paper"],
            "description": "<p>Care for <b>prints</b>.</p>",
            "publishedAt": utc(2024, 3, 12, 8, 30),
        },
    ),
    "wp-job-manager": (
        WP_JOB_MANAGER,
        {
            "externalId": "https://remote.example/?post_type=job_listing&p=9",
            "title": "Data Engineer",
            "jobUrl": "https://remote.example/job/9",
            "company": "Smith & Sons",
            "location": "Anywhere",
            "remote": True,
            "jobType": "full-time",
            "description": "<p>Pipelines &amp; lakes</p>",
            "publishedAt": utc(2024, 3, 2),
        },
    ),
    "weworkremotely": (
        WE_WORK_REMOTELY,
        {
            "externalId": "https://weworkremotely.com/remote-jobs/1",
            "title": "Backend: Payments",
            "jobUrl": "https://weworkremotely.com/remote-jobs/1",
            "company": "Blue Ocean",
            "location": "Anywhere in the World",
            "remote": True,
            "jobType": "contract",
            "categories": ["Back-End"],
            "description": "<div>Pay</div>",
            "publishedAt": utc(2024, 3, 4, 12),
            "expiresAt": utc(2024, 4, 3),
        },
    ),
    "atom": (
        ATOM,
        {
            "externalId": "urn:o:5",
            "title": "Cook & Baker",
            "jobUrl": "https://o.example/jobs/5",
            "company": "Corner Bakery",
            "categories": ["Food"],
            "description": "<div><p>Early <em>hours</em></p></div>",
            "publishedAt": utc(2024, 3, 1, 5),
        },
    ),
    "json-feed": (
        JSON_FEED,
        {
            "externalId": "12",
            "title": "Tester",
            "jobUrl": "https://j.example/12",
            "company": "J Ltd",
            "categories": ["qa", "web"],
            "description": "<p>Break <i>things</i></p>",
            "publishedAt": utc(2024, 3, 12, 8, 11, 12),
        },
    ),
    "indeed": (
        INDEED,
        {
            "externalId": "N-1",
            "title": "Nurse",
            "jobUrl": "https://ats.example/n1?a=1&b=2",
            "company": "St. Mary",
            "location": "Austin, TX, US",
            "city": "Austin",
            "region": "TX",
            "country": "US",
            "remote": False,
            "jobType": "full-time, contract",
            "salary": {
                "min": 85000,
                "max": 100000,
                "currency": "USD",
                "period": "year",
                "text": "$85,000 - $100,000 per year",
            },
            "categories": ["Health", "Care"],
            "description": "Care for a < b & c",
            "publishedAt": utc(2024, 3, 15, 13),
            "expiresAt": utc(2024, 4, 15),
        },
    ),
    "ziprecruiter": (
        ZIPRECRUITER,
        {
            "externalId": "Z1",
            "title": "Driver",
            "company": "Haul",
            "location": "Reno, NV, US",
            "city": "Reno",
            "region": "NV",
            "country": "US",
            "categories": ["Logistics"],
            "description": "Drive.",
            "publishedAt": utc(2024, 3, 12, 17),
        },
    ),
    "linkedin": (
        LINKEDIN,
        {
            "externalId": "P-7",
            "title": "Analyst",
            "jobUrl": "https://orbit.example/apply/7",
            "company": "Orbit",
            "location": "Lyon, France",
            "remote": False,
            "jobType": "full-time",
            "salary": {"min": 40000, "max": 50000.5, "currency": "EUR", "period": "year"},
            "description": "<p>Numbers</p>",
            "publishedAt": utc(2024, 3, 12),
        },
    ),
    "adzuna": (
        ADZUNA,
        {
            "externalId": "a1",
            "title": "Plumber",
            "jobUrl": "https://p.example/1",
            "company": "Pipes",
            "location": "Leeds",
            "country": "UK",
            "jobType": "permanent, full-time",
            "salary": {"min": 30000, "max": 35000, "currency": "GBP", "period": "year"},
            "description": "Fix",
            "publishedAt": utc(2024, 3, 12),
        },
    ),
    "remotive": (
        REMOTIVE,
        {
            "externalId": "321",
            "title": "Writer",
            "jobUrl": "https://r.example/321",
            "company": "Words",
            "location": "Europe",
            "remote": True,
            "jobType": "freelance",
            "salary": {"min": 40, "max": 40, "currency": "USD", "period": "hour", "text": "$40/hr"},
            "description": "<p>Write</p>",
            "publishedAt": utc(2024, 3, 12, 10, 11, 12),
        },
    ),
    "personio": (
        PERSONIO,
        {
            "externalId": "55",
            "title": "Admin (m/w/d)",
            "company": "Acme SE",
            "location": "Munich; Berlin",
            "jobType": "permanent, full-time",
            "categories": ["IT"],
            "description": "<h3>Your tasks</h3>\n<ul><li>Run & fix</li></ul>\n"
            "<h3>Profile</h3>\n<p>Calm</p>",
            "publishedAt": utc(2024, 3, 12, 9, 11, 12),
        },
    ),
    "careerjet": (
        CAREERJET,
        {
            "externalId": "c9",
            "title": "Baker",
            "jobUrl": "https://c.example/9",
            "company": "Pain",
            "location": "Nantes, Loire, France",
            "city": "Nantes",
            "region": "Loire",
            "country": "France",
            "jobType": "permanent, full-time",
        },
    ),
    "jobrapido": (
        JOBRAPIDO,
        {
            "externalId": "jr4",
            "title": "Cuoco",
            "jobUrl": "https://i.example/4",
            "company": "Trattoria",
            "location": "Roma",
            "region": "Lazio",
            "country": "IT",
            "jobType": "part-time",
            "publishedAt": utc(2024, 4, 3),
        },
    ),
    "whatjobs": (
        WHATJOBS,
        {
            "externalId": "w-3",
            "title": "Guard",
            "jobUrl": "https://w.example/3",
            "company": "Safe",
            "location": "Hull",
        },
    ),
    "jobfront": (
        JOBFRONT,
        {
            "externalId": "f1",
            "title": "Clerk",
            "jobUrl": "https://f.example/1",
            "description": "The <p>whole</p> story.",
        },
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_feed_is_recognised_and_its_record_becomes_a_posting(name: str) -> None:
    feed, expected = EXPECTED[name]
    read = ReadPostings(feed)
    assert read.format == name
    shown = msgspec.to_builtins(read.only())
    for known in ("dedupeKey", "contentHash", "sourceUrl", "sourceName"):
        assert shown.pop(known)
    assert shown == expected
    assert read.notes == {}


def test_every_format_has_a_sample() -> None:
    assert set(FORMATS) == {*EXPECTED, "generic"}


def test_an_unknown_format_is_refused_with_the_names_of_the_known_ones() -> None:
    with pytest.raises(FeedUnreadable, match=r"Unknown feed format 'rs'.*rss.*personio"):
        detect(Head("rss", {}, ["rss"]), "rs")
    with pytest.raises(ValueError, match="Unknown feed format"):
        check_format("")
    check_format("auto")
    check_format("rss")


def test_a_chosen_format_is_taken_whatever_the_feed_looks_like() -> None:
    assert ReadPostings(ADZUNA, wanted="jobrapido").format == "jobrapido"
    assert ReadPostings(RSS, wanted="weworkremotely").only().title == "Conservator – Paper & Prints"  # noqa: RUF001


# Details of single formats


def test_rss_1_is_read_with_any_prefix_for_a_known_namespace() -> None:
    posting = ReadPostings(RDF).only()
    assert posting.external_id == "https://a.example/1"
    assert posting.categories == ["Office"]
    assert posting.published_at == datetime(2024, 3, 12, 9, 11, tzinfo=UTC)


def test_a_colon_in_a_title_divides_it_only_on_we_work_remotely() -> None:
    feed = RSS.replace("Conservator &#8211;", "Museum: Conservator")
    posting = ReadPostings(feed).only()
    assert posting.title == "Museum: Conservator Paper & Prints"


def test_we_work_remotely_has_remote_work_only() -> None:
    found = rss_item("<guid>1</guid><region>USA Only</region>", "<title>We Work Remotely</title>")
    assert (found.location, found.remote) == ("USA Only", True)


def test_the_link_of_a_personio_position_comes_from_the_feeds_url() -> None:
    posting = ReadPostings(
        PERSONIO, source_url="https://acme.jobs.personio.de/xml?language=en"
    ).only()
    assert posting.job_url == "https://acme.jobs.personio.de/job/55"


def test_remotive_is_recognised_by_its_restriction_of_places() -> None:
    found = job(
        "<company-name>Acme</company-name>"
        "<candidate-location-restriction>Europe</candidate-location-restriction>"
    )
    assert (found.location, found.remote) == ("Europe", True)


def test_names_with_hyphens_alone_do_not_make_a_feed_remotive() -> None:
    found = job("<company-name>Acme</company-name><job-type>permanent</job-type><desc>Cook</desc>")
    assert (found.company, found.remote, found.description) == ("Acme", None, "Cook")


# Shapes that several formats have


def test_records_may_be_attributes_only() -> None:
    found = ReadPostings(
        '<vacancies><vacancy id="5" title="Baker" url="https://a.example/5?a=1&amp;b=2"/>'
        '<vacancy id="6" title="Miller" url="https://a.example/6"/></vacancies>'
    ).postings
    assert [(each.external_id, each.title) for each in found] == [("5", "Baker"), ("6", "Miller")]


@pytest.mark.parametrize("root", ["feed", "rss"])
def test_the_root_of_another_format_may_hold_jobs(root: str) -> None:
    found = job("<company>C</company>", root)
    assert (found.external_id, found.company) == ("1", "C")
