"""The job feeds of Loom & Weft and its neighbours, for the demo and tests.

Each comes in three editions that follow each other round and round, one for each request: some
postings are new, some are reworded, some are gone.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import NamedTuple

from webloom_demo.site import Page, Response

EDITIONS = 3
LARGE = 5_000
_FIRST_DAY = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'

_TRADES = (
    "Weaver", "Dyer", "Loom tuner", "Pattern cutter", "Fuller", "Carder", "Quality inspector",
    "Shop assistant", "Bookkeeper", "Night watch", "Delivery rider", "Webmaster",
)  # fmt: skip
_HOUSES = ("Loom & Weft", "Fuller's Row Dyeworks", "Café Bobbin", "Selvedge Gazette", "Müller Garn")
_TOWNS = (("Leeds", "GB"), ("Lyon", "FR"), ("Łódź", "PL"), ("Krefeld", "DE"), ("Ghent", "BE"))
_TYPES = ("full-time", "part-time", "freelance", "apprenticeship")
_DUTIES = (
    "Keep four looms running and one ear on each of them.",
    "Mix, stir, dip, wring, hang; write down what you did before it is dry.",
    "Find the fault before the customer does, and say so kindly.",
    "Count what comes in, count what goes out, and explain the difference.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoFeed:
    path: str
    name: str
    about: str  # for the person who watches the demo
    responses: Callable[[int], Response]
    close_missing: bool = False

    @property
    def page(self) -> Page:
        return Page(path=self.path, responses=self.responses)


class _Post(NamedTuple):
    number: int
    edition: int  # in which it was last reworded

    @property
    def title(self) -> str:
        senior = "Senior " if self.edition else ""
        return f"{senior}{_TRADES[self.number % len(_TRADES)]} no. {self.number}"

    @property
    def company(self) -> str:
        return _HOUSES[self.number % len(_HOUSES)]

    @property
    def town(self) -> tuple[str, str]:
        return _TOWNS[self.number % len(_TOWNS)]

    @property
    def kind(self) -> str:
        return _TYPES[self.number % len(_TYPES)]

    @property
    def since(self) -> datetime:
        return _FIRST_DAY + timedelta(hours=self.number % 2000)

    @property
    def url(self) -> str:
        return f"https://jobs.loom-and-weft.example/{self.number}"

    @property
    def description(self) -> str:
        duties = "".join(f"<li>{_DUTIES[(self.number + n) % len(_DUTIES)]}</li>" for n in range(3))
        pay = 24_000 + self.number % 40 * 500 + self.edition * 1_000
        return f"<p>{html.escape(self.company)} looks for you.</p><ul>{duties}</ul><p>€ {pay:,}</p>"


def demo_feeds() -> list[DemoFeed]:
    return [
        DemoFeed(
            path="/jobs/loom.rss",
            name="Loom & Weft",
            about="RSS with job_listing fields; lists every open posting",
            responses=_in_editions("application/rss+xml", _loom),
            close_missing=True,
        ),
        DemoFeed(
            path="/jobs/guild.atom",
            name="Weavers' guild",
            about="Atom; unchanged, and says so by its ETag",
            responses=_unchanging("application/atom+xml", _guild()),
        ),
        DemoFeed(
            path="/jobs/indeed.xml",
            name="Mills of the valley",
            about="Indeed's XML; some postings lack a title or come twice",
            responses=_in_editions("application/xml", _mills),
        ),
        DemoFeed(
            path="/jobs/market.rss",
            name="Flea market",
            about="broken RSS: bare &, unknown entities, control characters",
            responses=_in_editions("text/xml", _market),
        ),
        DemoFeed(
            path="/jobs/all.xml",
            name="Everything everywhere",
            about=f"RSS of {LARGE:,} postings",
            responses=_in_editions("application/rss+xml", _everything),
        ),
        DemoFeed(
            path="/jobs/",
            name="Notice board",
            about="a web page, not a feed",
            responses=_unchanging("text/html; charset=utf-8", _notice_board()),
        ),
    ]


def _in_editions(content_type: str, make: Callable[[int], str]) -> Callable[[int], Response]:
    def response(turn: int) -> Response:
        body = make(turn % EDITIONS).encode()
        return Response(body=body, headers={"Content-Type": content_type})

    return response


def _unchanging(content_type: str, text: str) -> Callable[[int], Response]:
    headers = {"Content-Type": content_type, "ETag": '"first-and-only"'}
    only = Response(body=text.encode(), headers=headers)
    return lambda _: only


def _posts(first: int, count: int, edition: int, *, reworded: int) -> Iterator[_Post]:
    """From one edition to the next the window moves on by two postings, and a few are reworded."""
    for number in range(first + 2 * edition, first + 2 * edition + count):
        is_reworded = edition and number % count in range(10, 10 + reworded)
        yield _Post(number, edition if is_reworded else 0)


def _loom(edition: int) -> str:
    items = "".join(
        f"""<item>
<title>{html.escape(post.title)}</title>
<link>{post.url}</link>
<guid isPermaLink="false">loom-{post.number}</guid>
<pubDate>{format_datetime(post.since)}</pubDate>
<job_listing:company>{html.escape(post.company)}</job_listing:company>
<job_listing:location>{", ".join(post.town)}</job_listing:location>
<job_listing:job_type>{post.kind}</job_listing:job_type>
<content:encoded><![CDATA[{post.description}]]></content:encoded>
</item>
"""
        for post in _posts(0, 40, edition, reworded=3)
    )
    return _rss(
        "Loom &amp; Weft: open positions",
        items,
        'xmlns:content="http://purl.org/rss/1.0/modules/content/" '
        'xmlns:job_listing="https://loom-and-weft.example/"',
    )


def _guild() -> str:
    entries = "".join(
        f"""<entry>
<id>urn:guild:{post.number}</id>
<title>{html.escape(post.title)}</title>
<link href="{post.url}"/>
<updated>{post.since.isoformat()}</updated>
<author><name>{html.escape(post.company)}</name></author>
<category term="{post.kind}"/>
<content type="html">{html.escape(post.description)}</content>
</entry>
"""
        for post in _posts(1_000, 25, 0, reworded=0)
    )
    return (
        f'{_XML}<feed xmlns="http://www.w3.org/2005/Atom">\n<title>The guild</title>\n'
        f"<id>urn:guild</id>\n<updated>{_FIRST_DAY.isoformat()}</updated>\n{entries}</feed>\n"
    )


def _mills(edition: int) -> str:
    posts = list(_posts(2_000, 60, edition, reworded=5))
    jobs = "".join(map(_mills_job, [*posts, *posts[:4]]))
    nameless = f"<job><url>{posts[0].url}</url><company>Nobody &amp; Sons</company></job>\n" * 3
    return f"{_XML}<source>\n<publisher>The valley</publisher>\n{jobs}{nameless}</source>\n"


def _mills_job(post: _Post) -> str:
    town, country = post.town
    return f"""<job>
<title><![CDATA[{post.title}]]></title>
<date><![CDATA[{format_datetime(post.since)}]]></date>
<referencenumber><![CDATA[mill-{post.number}]]></referencenumber>
<url><![CDATA[{post.url}]]></url>
<company><![CDATA[{post.company}]]></company>
<city><![CDATA[{town}]]></city>
<country><![CDATA[{country}]]></country>
<salary><![CDATA[€{24_000 + post.number % 40 * 500} per year]]></salary>
<jobtype><![CDATA[{post.kind}]]></jobtype>
<description><![CDATA[{post.description}]]></description>
</job>
"""


def _market(edition: int) -> str:
    """As a home-made script writes it."""
    items = "".join(
        f"<item><title>R&D {post.title} at the Caf&eacute;</title>"
        f"<link>{post.url}?from=market&day={post.number}</link><guid>market-{post.number}</guid>"
        f"<description>Bring\x0b your own thread & needle,<br>and a friend.</description></item>\n"
        for post in _posts(3_000, 30, edition, reworded=2)
    )
    return "<!-- made by hand -->\n" + _rss("Flea market", items)


def _everything(edition: int) -> str:
    return _rss(
        "Everything everywhere",
        "".join(
            f"<item><title>{html.escape(post.title)}</title><link>{post.url}</link>"
            f"<guid>{post.url}</guid><pubDate>{format_datetime(post.since)}</pubDate>"
            f"<category>{post.kind}</category>"
            f"<description>{html.escape(post.description)}</description></item>\n"
            for post in _posts(10_000, LARGE, edition, reworded=20)
        ),
    )


def _rss(title: str, items: str, namespaces: str = "") -> str:
    return (
        f'{_XML}<rss version="2.0" {namespaces}>\n<channel>\n<title>{title}</title>\n'
        f"<link>https://jobs.loom-and-weft.example/</link>\n{items}</channel>\n</rss>\n"
    )


def _notice_board() -> str:
    return (
        "<!doctype html>\n<html lang='en'><head><title>Notice board</title></head>"
        "<body><h1>Jobs</h1><p>Please ask inside.</p></body></html>\n"
    )
