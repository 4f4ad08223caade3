"""Messages for the storage agent as programs of every kind send them, made from a seed."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import msgspec

from webloom.domain.errors import EventRefused
from webloom.domain.storage_event import StorageEvent
from webloom.parsing.storage_event import event_of

FIRST_TS = 1_712_345_678_910
RECEIVED = datetime(2026, 3, 1, tzinfo=UTC)
UNTIMED = "untimed"  # the job of events without a time of their own
ODD_PRICES: list[Any] = [
    "call us",
    -5,
    {"current": "-5.00", "currency": "EUR"},
    {"current": None, "previous": 7},
    {"current": "1e400"},
    {"current": 10**30},
    {"current": True},
    [{"current": number} for number in range(20)],
    {},
    "",
]
MALFORMED: list[bytes] = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b'{"jobId": "a"}',
    b'{"url": "https://a.example/"}',
    b'{"jobId": null, "url": "https://a.example/"}',
    b'{"jobId": "a", "url": null}',
    b'{"jobId": "a", "url": 5}',
    b'{"jobId": {"a": 1}, "url": "https://a.example/"}',
    b'{"jobId": "a", "url": "not a url"}',
    b'{"jobId": "a", "url": "https://"}',
    b'{"jobId": "a", "url": "javascript:alert(1)"}',
    b'{"jobId": "a", "url": "https://a.example:99999/"}',
    b'{"jobId": "a\\u0000b", "url": "https://a.example/"}',
    b'{"jobId": "' + b"a" * 201 + b'", "url": "https://a.example/"}',
    b'{"jobId": "a", "url": "https://a.example/", "runId": "' + b"r" * 201 + b'"}',
    b'{"jobId": "a", "url": "https://a.example/", "parsed": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"jobId": "a", "url": "https://a.example/", "parsed": {"text": "' + b"x" * 8_000_000 + b'"}}',
]


def events(rng: random.Random, *, count: int, pages: int) -> list[bytes]:
    """Conflicting, late, repeated and incomplete ones."""
    urls = [f"https://shop.example/item/{number}?of={number % 5}" for number in range(pages)]
    made = []
    for number in range(count):
        url = rng.choice(urls)
        made.append(msgspec.json.encode(_event(rng, url, FIRST_TS + number * 7)))
    for number in range(count // 20):
        whole = _event(rng, f"https://shop.example/untimed/{number}", 0)
        whole |= {"jobId": UNTIMED, "runId": None, "ts": rng.choice([None, "soon", -1])}
        made.append(msgspec.json.encode(whole))
    return made


def _event(rng: random.Random, url: str, ts: int) -> dict[str, Any]:
    """A time is that of one event only."""
    variant = rng.randrange(6)
    event: dict[str, Any] = {
        "jobId": f"job{len(url) % 3}",
        "url": url,
        "parsed": rng.choice([_content(url, variant)] * 6 + [None, {}, "text"]),
        "classification": rng.choice(
            [{"type": "product", "confidence": 0.92}, {"type": "article"}, "product", None, {}]
        ),
        "diff": rng.choice(
            [
                {"textChanged": True, "images": {"added": [f"https://img.example/{ts}"]}},
                {"textChanged": True},
                {"textChanged": False, "images": {"added": [], "removed": []}},
                {},
                None,
                "yes",
            ]
        ),
        "price": _price(rng),
        "snapshotHash": rng.choice([f"hash {variant}", f"hash {variant}", variant, None]),
        "version": rng.choice([1, 2, 3, 4, 5, 6, 7, 8, "3", None, 0, -2, 2.5]),
        "ts": rng.choice([ts, ts, ts, float(ts)]),
        "availability": rng.choice(["in_stock", "out_of_stock", "maybe", None]),
        "alerts": rng.choice([[], ["the page changed"], None, "no list"]),
        "reasons": rng.choice([None, [{"kind": "page"}], [{"kind": "odd"}, {"kind": "page"}]]),
        "unknown": {"to": "us"},
    }
    event["runId"] = rng.choice([None, None, f"run of {event['jobId']}"])
    event["runStatus"] = rng.choice([None] * 20 + ["completed", "odd"])
    for name in rng.sample([*event], rng.choice([0, 0, 0, 1, 2])):
        if name not in ("jobId", "url", "ts"):
            del event[name]
    return event


def _content(url: str, variant: int) -> dict[str, Any]:
    """The same for the same hash."""
    lines = 60 if variant % 2 else 3
    whole: dict[str, Any] = {
        "title": f"Variant {variant}",
        "text": "\n".join(f"{url}, variant {variant}, line {line}" for line in range(lines)),
        "images": ["https://img.example/1.png"],
        "links": ["https://shop.example/", {"odd": 1}],
        "metadata": {"og:title": f"{variant}", "$odd.name": {"": None}, "big": 2**63},
    }
    odd: list[dict[str, Any]] = [
        {},
        {"metadata": {"a": 1.5}},
        {"title": None, "metadata": None},
        {"title": "nul \u0000 inside"},
        {"title": 5, "metadata": []},
        {"images": None, "extra": [1, 2]},
    ]
    return whole | odd[variant]


def _price(rng: random.Random) -> Any:
    if rng.random() < 0.3:
        return rng.choice(ODD_PRICES)
    if rng.random() < 0.3:
        return None
    current, previous = (rng.choice([79999, 82000, 10.99, "1299.5", 0, 0.1]) for _ in range(2))
    return {
        "current": current,
        "previous": rng.choice([previous, None]),
        "changePercent": rng.choice([-2.56, None, "much"]),
        "currency": rng.choice(["INR", "EUR", None, 7]),
    }


def read(body: bytes) -> StorageEvent | str:
    """As the agent reads it; or why it refuses it."""
    try:
        return event_of(body, received=RECEIVED)
    except EventRefused as error:
        return str(error)
