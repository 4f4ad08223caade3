"""A record of a feed -> a posting.

record -> values by field (mapping) -> the format's refinements -> the user's mapping
       -> one form for text, links, places, pay and dates -> checked, keyed, hashed
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final

from msgspec.structs import force_setattr, replace

from webloom.domain.import_run import LONGEST_SAMPLE
from webloom.parsing.content_hash import content_hash_of
from webloom.parsing.feeds import sanitise
from webloom.parsing.feeds.dates import parse_date
from webloom.parsing.feeds.element import Head, Record
from webloom.parsing.feeds.formats import BY_NAME, Format
from webloom.parsing.feeds.formats.format import Context
from webloom.parsing.feeds.formats.synonyms import AS_ATTRIBUTES, COMMON, LISTED, PAID, PAID_BY
from webloom.parsing.feeds.job_types import job_type
from webloom.parsing.feeds.mapping import (
    ANY,
    ANY_OF_OURS,
    FieldPaths,
    FieldTable,
    Values,
    leaf_texts,
)
from webloom.parsing.feeds.memo import Memo
from webloom.parsing.feeds.places import composed, says_remote, sounds_remote
from webloom.parsing.feeds.repairs import Repairs
from webloom.parsing.feeds.salary import DOLLARS, salary
from webloom.parsing.feeds.sanitise import cut, one_line, scrub
from webloom.parsing.feeds.urls import joined
from webloom.parsing.job_posting import JobPosting, Salary, dedupe_key
from webloom.parsing.words import words

DATE_NOT_READ: Final = "date that can't be read"

_LOOKED_AT: Final = 20_000  # characters of what becomes one line
_LONGEST_TITLE: Final = 1_000
_LONGEST_TEXT: Final = 2_000
_LONGEST_URL: Final = 8_000
_LONGEST_ID: Final = 500
_LONGEST_KIND: Final = 200  # of a flag, a unit, an amount
_LONGEST_CATEGORY: Final = 200
_MOST_CATEGORIES: Final = 100
_BASES: Final = ("link", "home_page_url", "feed_url")  # of relative links
_AMPERSAND = re.compile(r"&(?:(?:amp|#0*38|#x0*26);)+", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_WEB = re.compile(r"https?://[^/?#\s@:]", re.IGNORECASE)
_SAMPLED: Final = 5_000  # characters of a field
_TEXTS: Final = words(  # of a posting, where it has them
    "external_id job_url company location city region country job_type description"
)


@lru_cache(maxsize=16)  # creating them takes longer than reading a small feed
def _paths_of(format_name: str) -> FieldPaths:
    chosen = BY_NAME[format_name]
    paths = FieldPaths()
    paths.add(chosen.fields)
    paths.add(COMMON, prefix=ANY_OF_OURS)
    paths.add(AS_ATTRIBUTES)
    paths.add(chosen.last_resort)
    return paths


class Rejected(Exception):
    """A record that lacks what a posting needs."""

    def __init__(self, reason: str, sample: str) -> None:
        super().__init__(reason)
        self.reason = reason  # one of a few constants, so that they can be counted
        self.sample = sample  # of the record, as plain text


class Normaliser:
    """Created once per feed. `notes` counts what was left out of postings, by kind."""

    def __init__(
        self,
        format: Format,  # noqa: A002 - as the port calls it
        head: Head,
        *,
        source_url: str,
        source_name: str,
        mapping: Mapping[str, str],
    ) -> None:
        self.notes = Repairs()
        self._source_url = source_url
        self._source_name = source_name
        self._format = format
        self._refine = format.refine
        self._table = FieldTable(_paths_of(format.name), head.namespaces)
        self._own_mapping: FieldTable | None = None
        if mapping:
            own_paths = FieldPaths()
            own_paths.add({field: (path,) for field, path in mapping.items()}, prefix=ANY)
            self._own_mapping = FieldTable(own_paths, head.namespaces)
        said = head.base or next(filter(None, map(head.elements.get, _BASES)), "")
        base = joined(source_url, said.strip())
        self._base_url = base if _WEB.match(base) else source_url
        self._clean = sanitise.cleaner(self._base_url if _WEB.match(self._base_url) else None)
        self._markup = sanitise.Markup()
        self._dates = Memo(lambda text: parse_date(text, month_first=self._month_first))
        self._kinds = Memo(lambda text: job_type([one_line(text[:_LONGEST_KIND])]) or None)
        self._lines = Memo(lambda text: _line(text, _LONGEST_TEXT) or None)
        self._names = Memo(_category)
        self._context = Context(head=head, source_url=source_url, base_url=self._base_url)
        language = (head.elements.get("language") or head.elements.get("dc:language") or "").lower()
        self._month_first = format.month_first or language.startswith("en-us")
        if head.month_first is not None:
            self._month_first = head.month_first

    def posting(self, record: Record) -> JobPosting:
        """Raises Rejected."""
        values = self._table.values(record)
        if self._refine is not None:
            self._refine(values, record, self._context)
        if self._own_mapping is not None:
            values.update(self._own_mapping.values(record))
        get, text = values.get, self._text
        city = text(found) if (found := get("city")) else None
        region = text(found) if (found := get("region")) else None
        country = text(found) if (found := get("country")) else None
        location = text(found) if (found := get("location")) else None
        if not location and (city or region or country):
            location = composed((city, region, country))
        kind = self._kind(found) if (found := get("jobType")) else None
        identity, link = _identity(get("externalId")), self._url(get("jobUrl"), record)
        posting = JobPosting(
            dedupe_key=dedupe_key(self._source_url, identity, link),
            content_hash="",
            source_url=self._source_url,
            source_name=self._source_name,
            title=_title(get("title")),
            external_id=identity,
            job_url=link,
            company=text(found) if (found := get("company")) else None,
            location=location,
            city=city,
            region=region,
            country=country,
            remote=_remote(get("remote"), location, kind),
            job_type=kind,
            salary=_salary(get, country),
            categories=self._categories(get("categories"), get(LISTED)),
            description=self._description(get("description")),
            published_at=self._date(found) if (found := get("publishedAt")) else None,
            expires_at=self._date(found) if (found := get("expiresAt")) else None,
        )
        digest = content_hash_of(posting)
        if digest is None:
            posting = _scrubbed(posting)
            digest = content_hash_of(posting) or ""
        if not posting.title or not (posting.external_id or posting.job_url):
            raise Rejected(_lacking(posting.title, values), sample(record))
        force_setattr(posting, "content_hash", digest)  # not shared yet, so it need not be copied
        return posting

    def _text(self, candidates: list[str]) -> str | None:
        if len(candidates) == 1:
            return self._lines[candidates[0]]
        return _joined(candidates, _LONGEST_TEXT) or None

    def _kind(self, candidates: list[str]) -> str | None:
        if len(candidates) == 1:
            return self._kinds[candidates[0]]
        return job_type(one_line(text[:_LONGEST_KIND]) for text in candidates) or None

    def _url(self, candidates: list[str] | None, record: Record) -> str | None:
        for candidate in candidates or ():
            url = _AMPERSAND.sub("&", candidate) if "&" in candidate else candidate
            if not url.startswith(("https://", "http://")):
                url = self._absolute(url, record.attributes.get("xml:base", ""))
            if " " in url or "\n" in url or "\t" in url:
                url = "".join(url.splitlines()).replace("\t", "").strip().replace(" ", "%20")
            if len(url) <= _LONGEST_URL and _WEB.match(url):
                return url
        return None

    def _absolute(self, url: str, base: str) -> str:
        if url[:4].lower() == "www.":
            return f"https://{url}"
        if _SCHEME.match(url):
            return url
        return joined(joined(self._base_url, base.strip()), url)

    def _description(self, candidates: list[str] | None) -> str | None:
        if not candidates:
            return None
        text = candidates[0] if len(candidates) == 1 else max(candidates, key=len)
        return sanitise.description(text, self._clean, self._markup) or None

    def _categories(self, each: list[str] | None, listed: list[str] | None) -> list[str]:
        if not each and not listed:
            return []
        parts = each or []
        if not listed and len(parts) == 1 and not self._format.comma_lists:
            name = self._names[parts[0]]
            return [name] if name else []
        if self._format.comma_lists:
            listed, parts = [*parts, *(listed or ())], []
        for names in listed or ():
            parts = [*parts, *names.split(",", _MOST_CATEGORIES)[:_MOST_CATEGORIES]]
        unique = dict.fromkeys(map(_category, parts))
        unique.pop("", None)
        return list(unique)[:_MOST_CATEGORIES]

    def _date(self, candidates: list[str]) -> datetime | None:
        date = self._dates[candidates[0]]
        if date is None:
            self.notes.note(DATE_NOT_READ)
        return date


def _title(candidates: list[str] | None) -> str:
    if not candidates:
        return ""
    if len(candidates) == 1:
        return _line(candidates[0], _LONGEST_TITLE)
    return _joined(candidates, _LONGEST_TITLE)


def _joined(candidates: list[str], longest: int) -> str:
    each = dict.fromkeys(one_line(text[:_LOOKED_AT]) for text in candidates)
    return cut("; ".join(filter(None, each)), longest)


def _line(text: str, longest: int) -> str:
    line = one_line(text[:_LOOKED_AT])
    return line if len(line) <= longest else cut(line, longest)


def _category(text: str) -> str:
    return _line(text, _LONGEST_CATEGORY)


def _identity(candidates: list[str] | None) -> str | None:
    if not candidates:
        return None
    identity = candidates[0]
    if len(identity) > _LONGEST_ID:
        whole = hashlib.sha1(identity.encode(errors="replace"), usedforsecurity=False).hexdigest()
        identity = f"{identity[: _LONGEST_ID - 50]}…{whole}"
    return identity


def _remote(flags: list[str] | None, location: str | None, kind: str | None) -> bool | None:
    if flags:
        said = says_remote(flags[0][:_LONGEST_KIND])
        if said is not None:
            return said
    said = sounds_remote(location) if location else None
    return sounds_remote(kind) if said is None and kind else said


def _salary(get: Callable[[str], list[str] | None], country: str | None) -> Salary | None:
    text, low, high = get("salary"), get("salaryMin"), get("salaryMax")
    if text is None and low is None and high is None:
        return None
    currency, period = get("salaryCurrency"), get("salaryPeriod")
    if period is None and get(PAID):
        period = [
            each
            for each, name in PAID_BY.items()
            if (paid := get(name)) in (text, low, high) and paid
        ]
    return salary(
        text=_line(text[0], _LONGEST_TEXT) if text else None,
        low=low[0][:_LONGEST_KIND] if low else None,
        high=high[0][:_LONGEST_KIND] if high else None,
        currency=currency[0][:_LONGEST_KIND] if currency else None,
        period=period[0][:_LONGEST_KIND] if period else None,
        dollar=DOLLARS.get(country.lower()) if country else None,
    )


def _scrubbed(posting: JobPosting) -> JobPosting:
    texts = {name: scrub(getattr(posting, name) or "").strip() or None for name in _TEXTS}
    pay = posting.salary
    if pay is not None and pay.text is not None:
        pay = replace(pay, text=scrub(pay.text) or None)
    categories = filter(None, (scrub(name).strip() for name in posting.categories))
    return replace(
        posting,
        dedupe_key=dedupe_key(posting.source_url, texts["external_id"], texts["job_url"]),
        title=scrub(posting.title).strip(),
        salary=pay,
        categories=list(categories),
        **texts,
    )


def _lacking(title: str, values: Values) -> str:
    if not title:
        return "it has no title"
    if "jobUrl" in values:
        return "it has no id, and its link is not a web address"
    return "it has neither an id nor a link"


def sample(record: Record) -> str:
    """The content of a record, shortened, for the list of failures."""
    pairs: list[str] = []
    for child in record.children[:20]:
        text = child.text or " ".join(leaf_texts(child))
        words = " ".join(sanitise.plain(scrub(text[:_SAMPLED])).split())
        if words:
            pairs.append(f"{child.name}: {cut(words, 200)}")
    pairs += (f"@{name}: {cut(value, 200)}" for name, value in record.attributes.items())
    shown = "; ".join(pairs) or scrub(record.text[:LONGEST_SAMPLE]).strip() or "an empty record"
    return cut(scrub(shown), LONGEST_SAMPLE)
