"""The offer in the initial state of a page's scripts: `__NEXT_DATA__`, `dataLayer` and others.

Such data covers many things, in no common format. So it is read only where a page has its price
nowhere else, and an object counts only if it has the name of the page's product, a price and a
currency, and no other object of that name has another price.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, Final

import msgspec
from selectolax.lexbor import LexborNode

from webloom.parsing.html_tree.structured import LOOSE_JSON, types_of
from webloom.parsing.prices.amounts import machine_amount
from webloom.parsing.prices.availability import first_availability
from webloom.parsing.prices.currencies import currency_of
from webloom.parsing.prices.identity import PageIdentity
from webloom.parsing.prices.offers import Offer

_MOST_CHARACTERS: Final = 1_500_000  # of all scripts together
_MOST_STARTS: Final = 8  # values that are looked for in one script
_MOST_VALUES: Final = 20_000  # objects and lists
_MOST_DEPTH: Final = 24
_MOST_PARTS: Final = 2  # objects around the number of a price
_MOST_NAME: Final = 300
_MOST_NAMED: Final = 1000  # objects with the name of the product
_LEAST_SHARE: Final = 0.8  # of the name in the title or headline, and of these in the name

_HAS_PRICE: Final = re.compile('rices?"')
_START: Final = re.compile(r"""[=(]\s*(?=\{\s*"|\[\s*\{\s*")""")
_UNDEFINED: Final = re.compile(r"(?<=[:,\[])undefined(?=[,}\]])")

# By their names in lower case, without marks between the words; the first that has a value counts.
_NAMES: Final = ("name", "title", "productname", "itemname", "displayname")
_CURRENCIES: Final = ("currency", "currencycode", "pricecurrency", "currencyiso", "currencyisocode")
_PRICES: Final = (
    *("saleprice", "specialprice", "discountedprice", "finalprice", "currentprice"),
    *("sellingprice", "price", "prices"),
)
_PARTS: Final = ("sale", "current", "final", "value", "amount", "now", *_PRICES)  # of a price
_LIST_PRICES: Final = ("listprice", "originalprice", "regularprice", "oldprice", "compareatprice")
_STOCK: Final = ("availability", "instock", "isinstock", "available", "isavailable", "stockstatus")

Node = dict[str, Any]


def offer_in_state(
    scripts: Sequence[LexborNode], identity: PageIdentity, regional: Sequence[str]
) -> Offer | None:
    named = (
        (share, node, currency)
        for value in _values(scripts)
        for node, currency in _nodes(value, regional)
        if (share := identity.name_share(_name(node))) >= _LEAST_SHARE
    )
    found: list[tuple[float, Offer]] = []
    for share, node, currency in islice(named, _MOST_NAMED):
        if (offer := _offer(node, currency, regional)) is not None:
            found.append((share, offer))
    best = max((share for share, _ in found), default=0.0)
    offers = [offer for share, offer in found if share > best - 0.01]
    return offers[0] if len({(one.price, one.currency) for one in offers}) == 1 else None


def _values(scripts: Sequence[LexborNode]) -> Iterator[Any]:
    left = _MOST_CHARACTERS
    for script in scripts:
        kind = script.attrs.sget("type").lower()
        if "ld+json" in kind or "src" in script.attrs:
            continue
        text = script.text()
        if not _HAS_PRICE.search(text) or "urrency" not in text:
            continue
        left -= len(text)
        if left < 0:
            return
        if "json" in kind:
            try:
                yield msgspec.json.decode(text)
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                continue
        else:
            yield from _assigned(_UNDEFINED.sub("null", text))


def _assigned(text: str) -> Iterator[Any]:
    """What is assigned to a name or given to a function, where it is JSON."""
    end = 0
    for count, start in enumerate(_START.finditer(text)):
        if count == _MOST_STARTS:
            return
        if start.end() < end:
            continue
        try:
            value, end = LOOSE_JSON.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            continue
        yield value


def _nodes(value: Any, regional: Sequence[str]) -> Iterator[tuple[Node, str | None]]:
    """All objects, by their names in lower case, with the currency that they or those around them
    have."""
    left = _MOST_VALUES
    waiting: list[tuple[Any, str | None, int]] = [(value, None, 0)]
    while waiting and left:
        left -= 1
        one, currency, depth = waiting.pop()
        inner: Any = one
        if isinstance(one, dict):
            node = {_plain(name): inside for name, inside in one.items()}
            currency = _currency(node, regional) or currency
            yield node, currency
            inner = one.values()
        if depth < _MOST_DEPTH:
            held = list(islice((each for each in inner if isinstance(each, dict | list)), left))
            waiting.extend((each, currency, depth + 1) for each in reversed(held))


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _name(node: Node) -> str | None:
    names = (node.get(name) for name in _NAMES)
    return next((one[:_MOST_NAME] for one in names if isinstance(one, str) and one), None)


def _currency(node: Mapping[str, Any], regional: Sequence[str]) -> str | None:
    for name in _CURRENCIES:
        written = node.get(name)
        if isinstance(written, str) and (code := currency_of(written[:20], regional)):
            return code
    return None


def _offer(node: Node, currency: str | None, regional: Sequence[str]) -> Offer | None:
    """Of an object with a price and a currency, unless it is one of JSON-LD."""
    if types_of(node):
        return None
    price, own = _amount(node, _PRICES, regional)
    currency = own or currency
    if price is None or currency is None:
        return None
    listed, _ = _amount(node, _LIST_PRICES, regional)
    availability = first_availability(map(node.get, _STOCK))
    return Offer(price, listed if listed and listed > price else None, currency, availability)


def _amount(
    node: Node, names: Sequence[str], regional: Sequence[str], depth: int = 0
) -> tuple[Decimal | None, str | None]:
    """Of a number, or of an object that has it, or one for the reduced price."""
    currency = _currency(node, regional) if depth else None
    for name in names:
        value, own = node.get(name), currency
        if isinstance(value, dict) and depth < _MOST_PARTS:
            parts = {_plain(part): one for part, one in value.items()}
            amount, inner = _amount(parts, _PARTS, regional, depth + 1)
            own = inner or currency
        else:
            amount = machine_amount(value, currency)
        if amount is not None:
            return amount, own
    return None, None
