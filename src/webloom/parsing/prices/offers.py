"""Offers in structured data: JSON-LD, and microdata in its form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from webloom.domain.price import Availability
from webloom.parsing.html_tree.structured import types_of
from webloom.parsing.prices.amounts import first_amount, machine_amount, read_amount
from webloom.parsing.prices.availability import structured_availability
from webloom.parsing.prices.currencies import currency_of
from webloom.parsing.prices.identity import PageIdentity
from webloom.parsing.words import words

_MOST_PRODUCTS: Final = 200
_MOST_OFFERS: Final = 300  # of one product
_MOST_STEPS: Final = 20_000  # of all products; one for a property or an entry of its list
_OFFER_STEPS: Final = 10  # for the amounts, currency and availability of one offer
_IDS: Final = words("sku productid mpn gtin gtin8 gtin12 gtin13 gtin14 id isbn")
_LIST_PRICE_TYPES: Final = ("listprice", "strikethrough", "srp", "msrp", "regularprice", "rrp")

Node = dict[str, Any]
Properties = dict[str, Any]  # of a node, by their names in lower case


class Offer(NamedTuple):
    price: Decimal | None
    list_price: Decimal | None
    currency: str | None
    availability: Availability
    url: str | None = None
    ids: tuple[str, ...] = ()


class Product(NamedTuple):
    name: str | None
    url: str | None
    ids: tuple[str, ...]
    offers: list[Offer]
    listed: bool  # one of a list: likely a neighbour

    @property
    def has_price(self) -> bool:
        return any(offer.price is not None for offer in self.offers)


def main_product(
    nodes: Sequence[Node], identity: PageIdentity, regional: Sequence[str]
) -> Product | None:
    """The product that the page is about, with the offers of all its entries; None where there are
    several products and nothing says which."""
    products = _products(nodes, regional)
    if not products:
        return None
    scores = [_likeness(product, identity) for product in products]
    best = max(range(len(products)), key=lambda at: (scores[at], products[at].has_price, -at))
    single = sum(product.has_price and not product.listed for product in products) <= 1
    if scores[best] < 1.5 and not (single and not products[best].listed):
        return None
    chosen = products[best]
    same = [
        product
        for product, score in zip(products, scores, strict=True)
        if score >= scores[best] - 0.01 and product.name == chosen.name
    ]
    offers = [offer for product in same for offer in product.offers]
    return chosen._replace(offers=offers[:_MOST_OFFERS])


def chosen_offer(offers: Sequence[Offer], identity: PageIdentity, seen: Decimal | None) -> Offer:
    """Of one product's offers: the one that the page's address names, the one whose price people
    see, then what can be bought, then the first."""

    def rank(offer: Offer) -> tuple[bool, ...]:
        named = any(identity.names_id(one) for one in offer.ids)
        own = bool(offer.url) and (offer.url or "").lower().strip() == identity.address
        return (
            offer.price is not None,
            named,
            offer.price == seen,
            own,
            offer.availability is Availability.IN_STOCK,
        )

    return max(offers, key=rank)  # the first of equals


def _likeness(product: Product, identity: PageIdentity) -> float:
    score = 0.0
    if identity.is_at(product.url) or any(
        identity.is_at(offer.url) for offer in product.offers[:5]
    ):
        score += 2
    share = identity.name_share(product.name)
    if share >= 0.5:
        score += 3 * share
    if any(identity.names_id(one) for one in product.ids):
        score += 1.5
    if product.listed:
        score -= 2
    return score


def _products(nodes: Sequence[Node], regional: Sequence[str]) -> list[Product]:
    by_id = {node["@id"]: node for node in nodes if isinstance(node.get("@id"), str)}
    reader = _Reader(by_id, regional)
    products: list[Product] = []
    for node, listed in _offering_nodes(nodes, by_id):
        products.append(reader.product(node, listed=listed))
        if len(products) == _MOST_PRODUCTS:
            break
    return products


def _offering_nodes(nodes: Sequence[Node], by_id: dict[str, Node]) -> Iterator[tuple[Node, bool]]:
    """Nodes that offer something; a bare offer counts as a product of its own."""
    for node in nodes:
        types = {one.lower() for one in types_of(node)}
        if _is_offering(node) or types & {"product", "productgroup"}:
            yield node, False
        elif types & {"offer", "aggregateoffer"}:
            item = _first_node(_properties(node).get("itemoffered"))
            yield ({**item, "offers": node} if item else {"offers": node}), False
        for name in ("mainEntity", "mainEntityOfPage", "about"):
            entity = _first_node(node.get(name))
            if entity is None:
                continue
            entity = by_id.get(str(entity.get("@id")), entity)
            if _is_offering(entity) and entity not in nodes:
                yield entity, False
        for entry in _nodes(_properties(node).get("itemlistelement"))[:_MOST_PRODUCTS]:
            item = _first_node(entry.get("item")) or entry
            if _is_offering(item):
                yield item, True


def _is_offering(node: Node) -> bool:
    return (
        "offers" in node
        or "hasVariant" in node
        or (
            "price" in node
            and not {"offer", "aggregateoffer"} & {one.lower() for one in types_of(node)}
        )
    )


class _Reader:
    def __init__(self, by_id: dict[str, Node], regional: Sequence[str]) -> None:
        self._by_id = by_id
        self._regional = regional
        self._steps_left = _MOST_STEPS

    def product(self, node: Node, *, listed: bool) -> Product:
        return self._product(node, self._opened(node), listed=listed)

    def _product(self, node: Node, properties: Properties, *, listed: bool = False) -> Product:
        ids = _ids(properties)
        url = _text(properties.get("url")) or _text(node.get("@id"))
        offers: list[Offer] = []
        for one in _nodes(properties.get("offers"))[:_MOST_OFFERS]:
            offers.extend(self._offers(self._resolved(one), ids))
        for variant in _nodes(properties.get("hasvariant"))[:_MOST_OFFERS]:
            known = self._resolved(variant)
            inside = self._opened(known)
            if "hasvariant" in inside:
                continue
            read = self._product(known, inside)
            offers.extend(
                offer._replace(url=offer.url or read.url, ids=(*offer.ids, *read.ids))
                for offer in read.offers
            )
        if not offers and "price" in node:
            offers = self._offers(node, ids)
        return Product(_text(properties.get("name")), url, ids, offers[:_MOST_OFFERS], listed)

    def _opened(self, node: Node) -> Properties:
        """The properties of a node, or none once all steps are taken. A few nodes that refer to
        each other many times can stand for millions of offers."""
        if self._steps_left <= 0:
            return {}
        self._steps_left -= sum(len(one) if isinstance(one, list) else 1 for one in node.values())
        return _properties(node)

    def _resolved(self, node: Node) -> Node:
        if len(node) <= 2 and isinstance(node.get("@id"), str):
            return self._by_id.get(node["@id"], node)
        return node

    def _offers(self, node: Node, product_ids: tuple[str, ...]) -> list[Offer]:
        """The offer of a node, before those inside it: an AggregateOffer's lowest price is what
        counts if nothing tells which of its offers is meant."""
        properties = self._opened(node)
        nested = [self._resolved(one) for one in _nodes(properties.get("offers"))[:_MOST_OFFERS]]
        own = self._offer(properties, product_ids)
        inner = [self._offer(self._opened(one), product_ids) for one in nested]
        inner = [offer._replace(currency=offer.currency or own.currency) for offer in inner]
        if own.price is None and inner:
            return inner
        if own.availability is Availability.UNKNOWN:
            own = own._replace(availability=_best_availability(inner))
        return [own, *inner]

    def _offer(self, offer: Properties, product_ids: tuple[str, ...]) -> Offer:
        self._steps_left -= _OFFER_STEPS
        specified = _nodes(offer.get("pricespecification"))[:20]
        specifications = [self._opened(one) for one in specified]
        currency = self._currency(offer, specifications)
        price, list_price = self._prices(offer, specifications, currency)
        if currency is None:
            written = read_amount(_first(offer.get("price")), self._regional)
            currency = written.currency if written else None
        own_ids = tuple(one for one in _ids(offer) if one not in product_ids)
        availability = structured_availability(offer.get("availability"))
        if availability is Availability.UNKNOWN:
            availability = _of_inventory(offer.get("inventorylevel"))
        if availability is Availability.UNKNOWN and price is not None and _is_sold(offer):
            availability = Availability.IN_STOCK
        url = _text(offer.get("url"))
        return Offer(price, list_price, currency, availability, url, own_ids)

    def _currency(self, offer: Properties, specifications: list[Properties]) -> str | None:
        for one in (offer, *specifications):
            written = _first(one.get("pricecurrency")) or _first(one.get("currency"))
            if isinstance(written, str) and (code := currency_of(written[:20], self._regional)):
                return code
        return None

    def _prices(
        self, offer: Properties, specifications: list[Properties], currency: str | None
    ) -> tuple[Decimal | None, Decimal | None]:
        def amount_of(node: Properties, *names: str) -> Decimal | None:
            return first_amount((_first(node.get(name)) for name in names), currency)

        current = amount_of(offer, "price", "lowprice")
        listed: Decimal | None = None
        specified: Decimal | None = None
        for one in specifications:
            kind = str(one.get("pricetype") or "").lower()
            amount = amount_of(one, "price", "minprice")
            if any(name in kind for name in _LIST_PRICE_TYPES):
                listed = listed or amount
            elif one.get("referencequantity") is None or len(specifications) == 1:
                specified = specified or amount
        current = current or specified or amount_of(offer, "highprice")
        return current, listed if listed and current and listed > current else None


def _is_sold(offer: Properties) -> bool:
    """Whether an AggregateOffer counts at least one seller."""
    count = machine_amount(offer.get("offercount"))
    return count is not None and "AggregateOffer" in types_of(offer)


def _of_inventory(level: Any) -> Availability:
    """Of how many there are: a number, or a QuantitativeValue."""
    level = _first(level)
    if isinstance(level, dict):
        level = level.get("value")
    if isinstance(level, str) and level.strip().lstrip("-").isdecimal():
        level = int(level)
    if not isinstance(level, int | float):
        return Availability.UNKNOWN
    return Availability.IN_STOCK if level > 0 else Availability.OUT_OF_STOCK


def _best_availability(offers: Sequence[Offer]) -> Availability:
    said = {offer.availability for offer in offers}
    order = (Availability.IN_STOCK, Availability.PRE_ORDER, Availability.OUT_OF_STOCK)
    return next((one for one in order if one in said), Availability.UNKNOWN)


def _properties(node: Node) -> Properties:
    """By their names in lower case, as priceCurrency is often pricecurrency; the first wins."""
    return {name.lower(): value for name, value in reversed(node.items())}


def _first(value: Any) -> Any:
    return next((one for one in value if one), None) if isinstance(value, list) else value


def _nodes(value: Any) -> list[Node]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, dict)]


def _first_node(value: Any) -> Node | None:
    return next(iter(_nodes(value)), None)


def _text(value: Any) -> str | None:
    value = _first(value)
    if isinstance(value, dict):
        value = value.get("@value") or value.get("@id")
    return value if isinstance(value, str) else None


def _ids(properties: Properties) -> tuple[str, ...]:
    found = (str(value) for name in _IDS if isinstance(value := properties.get(name), str | int))
    return tuple(one.removeprefix("sku:") for one in found)
