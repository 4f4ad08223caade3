"""XML of no format that is known by name: the records are found by what repeats, and their fields
by the names that are common to feeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from webloom.parsing.feeds.element import Head
from webloom.parsing.feeds.formats.format import Format
from webloom.parsing.feeds.formats.synonyms import COMMON
from webloom.parsing.feeds.mapping import squeezed
from webloom.parsing.words import words

_RECORDS: Final = words(
    "job item entry position vacancy offer ad advert advertisement listing posting jobposting "
    "joboffer jobpositionposting positionopening jobad jobadvert joblisting jobposition "
    "opportunity opening record row element node "
    "requisition stelle stellenanzeige stellenangebot annonce oferta empleo offerta offre emploi "
    "vacature anzeige result object product"
)
_CONTAINERS: Final = frozenset(
    words(
        "jobs source items entries positions vacancies offers ads adverts listings postings "
        "opportunities openings records rows data root feed results response joblist jobfeed "
        "xml list "
        "jobpostings joboffers"
    )
)
_ABOUT_A_FEED: Final = frozenset(
    words(
        "publisher publisherurl publishername lastbuilddate expectedjobcount jobcount count total "
        "totalcount generator generated language"
    )
)
_TITLES: Final = frozenset(COMMON["title"]) - {"name"}
_FIELDS: Final = frozenset(
    path
    for field in ("title", "jobUrl", "description", "company", "externalId")
    for path in COMMON[field]
)

FORMAT = Format(
    name="generic",
    about="any XML with repeated records whose fields have common names",
    record_names=frozenset(_RECORDS),
    certainty=lambda head: 0,
)


def fitted(head: Head) -> Format | None:
    """The generic format with this feed's record element; None: it does not look like a feed."""
    name = _record_name(head)
    if name is not None:
        return replace(FORMAT, record_names=frozenset({name}))
    others = {squeezed(name.rpartition(":")[2]) for name in head.names}
    if squeezed(head.root) in _CONTAINERS and others <= _CONTAINERS | _ABOUT_A_FEED:
        return FORMAT  # without a record, so far
    return None


def _record_name(head: Head) -> str | None:
    names = [name.rpartition(":")[2] for name in head.names[1:]]
    times = Counter(names)
    first = {name: at for at, name in reversed(list(enumerate(names)))}
    candidates = sorted(
        (name for name in times if squeezed(name) in _RECORDS),
        key=lambda name: (times[name] < 2, first[name]),
    )
    candidates += [name for name in times if times[name] > 1]
    candidates += [name for name in times if squeezed(name) not in _FIELDS]
    for name in candidates:
        following = {squeezed(other) for other in names[first[name] + 1 :][:60]}
        following.update(map(squeezed, head.attributes.get(name, ())))
        titled = following & _TITLES or "name" in following
        if titled and len(following & _FIELDS) > 1:
            return name
    return None
