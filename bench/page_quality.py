"""How well prices and availability are found: F1 on real shop pages with their truth.

A page counts as right where the found price equals an accepted one. Truth that lost its thousands
("24.99" for $24.990) is accepted as meant: strict figures, beside it, don't.
"""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.html_tree.structured import Structured, read_structured
from webloom.parsing.prices.finder import PageOffer, find_offer

PAGES = Path(__file__).resolve().parents[2] / "shared" / "data" / "product-pages"
_DOTS_BEFORE_THOUSANDS = ("CLP", "COP", "PKR", "VND", "IDR", "PYG")
_SAID = {Availability.IN_STOCK: "InStock", Availability.OUT_OF_STOCK: "OutOfStock"}


class Judged(NamedTuple):
    name: str
    url: str
    offer: PageOffer
    price: str  # TP, FP, FN or TN
    price_strictly: str
    availability: str
    cpu: float  # seconds for the structured data and the offer, without the parsing of the page
    truth: dict[str, Any]


def judge_pages(folder: Path = PAGES, *, only_visible: bool = False) -> Iterator[Judged]:
    """With only_visible, as if the pages had no prices for machines."""
    truths: dict[str, dict[str, Any]] = json.loads((folder / "truth.json").read_text())
    for name, truth in sorted(truths.items()):
        body = gzip.decompress((folder / f"{name}.html.gz").read_bytes())
        tree = LexborHTMLParser(body)
        html = tree.css_first("html")
        language = html.attributes.get("lang") if html else None
        began = time.process_time()
        structured = read_structured(tree)
        if only_visible:
            structured = _without_offers(structured)
        offer = find_offer(tree, structured, url=truth["url"], language=language)
        cpu = time.process_time() - began
        prices = [Decimal(one.strip()) for one in truth.get("price", [])]
        current = offer.price.current if offer.price else None
        meant = list(prices)
        if offer.price and offer.price.currency in _DOTS_BEFORE_THOUSANDS:
            meant += [one * 1000 for one in prices if one < 1000]
        said = _SAID.get(offer.availability)
        if offer.availability is Availability.PRE_ORDER:
            said = "PreOrder"
        yield Judged(
            name,
            truth["url"],
            offer,
            _verdict(current, meant),
            _verdict(current, prices),
            _verdict(said, truth.get("availability", [])),
            cpu,
            truth,
        )


def _without_offers(structured: Structured) -> Structured:
    kept = {
        name: content
        for name, content in structured.open_graph.items()
        if "price" not in name and "availability" not in name
    }
    return Structured(open_graph=kept)


def _verdict(found: object | None, accepted: list[Any]) -> str:
    if found is None:
        return "FN" if accepted else "TN"
    return "TP" if found in accepted else "FP"


def f1(verdicts: list[str]) -> float:
    """A wrong value counts as false; only silence counts as missed."""
    count = Counter(verdicts)
    right, false = count["TP"], count["FP"]
    missed = count["FN"]
    return 2 * right / (2 * right + false + missed) if right else 0.0


def _print_errors(judged: list[Judged]) -> None:
    for one in judged:
        if (one.price, one.availability) != ("TP", "TP"):
            price = one.offer.price
            found = f"{price.current} {price.currency} {price.source}" if price else "no price"
            print(
                f"{one.name} price {one.price}: {found} for {one.truth.get('price')}; "
                f"availability {one.availability}: {one.offer.availability}; {one.url[:60]}"
            )


def _row(title: str, judged: list[Judged]) -> str:
    return (
        f"{title:>14} {len(judged):>3} {f1([one.price for one in judged]):>9.3f} "
        f"{f1([one.price_strictly for one in judged]):>7.3f} "
        f"{f1([one.availability for one in judged]):>16.3f} "
        f"{sum(one.cpu for one in judged) / len(judged) * 1000:>7.1f}"
    )


def main() -> None:
    judged = list(judge_pages())
    _print_errors(judged)
    hosts = sorted({urlsplit(one.url).hostname or "" for one in judged})
    halves: dict[str, list[Judged]] = {"one half": [], "other half": []}
    for one in judged:
        is_first = hosts.index(urlsplit(one.url).hostname or "") % 2 == 0
        halves["one half" if is_first else "other half"].append(one)
    print(f"{'pages':>14}   n  price F1  strict  availability F1  CPU ms")
    for title, chosen in halves.items():
        print(_row(title, chosen))
    print(_row("all", judged))
    print(_row("visible only", list(judge_pages(only_visible=True))))
    sources = Counter(
        (one.offer.price.source.value if one.offer.price else "none", one.price) for one in judged
    )
    print({f"{source} {verdict}": count for (source, verdict), count in sorted(sources.items())})


if __name__ == "__main__":
    main()
