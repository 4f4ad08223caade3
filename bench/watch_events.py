"""Messages of `storage-agent` as a shop's pages would cause them, version by version."""

import random
from datetime import UTC, datetime
from decimal import Decimal

import msgspec

from webloom.diffs.pages import diff_pages
from webloom.domain.storage_event import StorageEvent
from webloom.parsing.pages.page import ParsedPage
from webloom.parsing.storage_event import encoded, event_of

PAGES_OF_WATCH = 10
_FIRST_TS = 1_767_225_600_000
_STEP = 3_600_000  # milliseconds between two versions
_RECEIVED = datetime(2026, 1, 2, tzinfo=UTC)
_CHANGED = 0.01  # of the lines, from one version to the next
_WORDS = (
    "the market opened early this morning and people from every village came with baskets of bread "
    "fruit cheese wool paper honey lamps small wooden tools that their neighbours made during long "
    "quiet winter while snow lay on roads price delivery within three days free returns size colour"
)


def messages(page: int, *, versions: int, size: int) -> list[bytes]:
    """Of one page with so many characters of text, the oldest first."""
    choose = random.Random(page)
    lines: list[str] = []
    while sum(map(len, lines)) < size:
        lines.append(_line(choose))
    url = f"https://shop-{page % 7}.example.com/p/{page:05d}"
    found = []
    last: ParsedPage | None = None
    price = Decimal(choose.randrange(1000, 90_000)) / 100
    for version in range(1, versions + 1):
        now = _parsed(page, lines)
        diff = {} if last is None else msgspec.to_builtins(diff_pages(last, now))
        previous = price if last is not None else None
        price += Decimal(choose.randrange(-50, 60)) / 100
        message = {
            "jobId": f"job-{page // PAGES_OF_WATCH}",
            "url": url,
            "parsed": msgspec.to_builtins(now),
            "classification": {"type": "product", "confidence": 0.9, "reasons": ["it has a price"]},
            "diff": diff or {"textChanged": False},
            "price": {"current": price, "previous": previous, "currency": "EUR"},
            "availability": "in_stock",
            "snapshotHash": f"{page:05d}-{version:04d}",
            "version": version,
            "ts": _FIRST_TS + version * _STEP,
        }
        found.append(encoded(message))
        last = now
        for index in choose.sample(range(len(lines)), max(1, round(len(lines) * _CHANGED))):
            lines[index] = _line(choose)
    return found


def event(message: bytes) -> StorageEvent:
    return event_of(message, received=_RECEIVED)


def _line(choose: random.Random) -> str:
    return " ".join(choose.choices(_WORDS.split(), k=choose.randint(5, 14)))


def _parsed(page: int, lines: list[str]) -> ParsedPage:
    return ParsedPage(
        title=f"Product {page}",
        text="\n".join(lines),
        images=[f"https://cdn.example.com/{page}/{n}.jpg" for n in range(5)],
        links=[f"https://shop.example.com/c/{n}" for n in range(20)],
        metadata={"language": "en", "canonical": f"https://shop.example.com/p/{page:05d}"},
    )
