"""The price of a page's product, and whether it is in stock.

JSON-LD -> microdata -> OpenGraph and metas -> visible text -> initial state of scripts: the first
source with a price, and the first with an availability, for the product that the page is about.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability, Price, PriceSource
from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.html_tree.structured import Structured
from webloom.parsing.prices.amounts import machine_amount
from webloom.parsing.prices.currencies import country_currency, regional_currencies
from webloom.parsing.prices.identity import identity_of
from webloom.parsing.prices.metas import (
    is_typed_article,
    is_typed_product,
    named_price,
    open_graph_availability,
    open_graph_price,
)
from webloom.parsing.prices.neighbours import end_of_product
from webloom.parsing.prices.offers import Offer, chosen_offer, main_product
from webloom.parsing.prices.state import offer_in_state
from webloom.parsing.prices.visible_price import (
    VisiblePrice,
    list_price_beside,
    shown_at,
    visible_price,
)
from webloom.parsing.prices.visible_stock import has_buy_markup, marked_stock, visible_stock
from webloom.parsing.prices.visible_text import read_visible_text

_MARKED_PRICE: Final = (
    '[itemprop="price"][content], [property="price"][content], [property="schema:price"][content], '
    '[itemprop="price"][data-price], [class*="price"][data-price]'
)
_MOST_MARKED: Final = 20
_SURE_SCORE: Final = 4.5
_SCALES: Final = frozenset(Decimal(one) for one in ("1000", "100", "0.01", "0.001"))
_ROUNDED: Final = Decimal("0.01")  # the share by which an amount may differ that has lost digits


class PageOffer(NamedTuple):
    price: Price | None
    availability: Availability


def find_offer(
    tree: LexborHTMLParser,
    structured: Structured,
    *,
    url: str,
    language: str | None,
    elements: Elements | None = None,
) -> PageOffer:
    page = _Page(tree, elements or Elements(tree), structured, url, language)
    offer = page.structured_offer()
    declared = [page.price_of(offer), open_graph_price(structured, page.regional)]
    if not any(declared):
        declared.append(named_price(structured, page.regional))
    price = page.agreed(declared)
    if price is None and (state := page.state_offer()) is not None:
        price, offer = page.price_of(state, PriceSource.SCRIPT), offer or state
    availability = offer.availability if offer else Availability.UNKNOWN
    if availability is Availability.UNKNOWN:
        availability = open_graph_availability(structured)
    is_product = price is not None or offer is not None or is_typed_product(structured)
    return PageOffer(
        price and page.completed(price), page.checked(availability, is_product=is_product)
    )


class _Page:
    def __init__(
        self,
        tree: LexborHTMLParser,
        elements: Elements,
        structured: Structured,
        url: str,
        language: str | None,
    ) -> None:
        self.regional = regional_currencies(url, structured.open_graph.get("og:locale"), language)
        self._country_currency = country_currency(url)
        self._identity = identity_of(elements, structured, url)
        self._tree = tree
        self._elements = elements
        self._structured = structured
        self._visible = read_visible_text(tree, elements, self._identity)
        self._stock = visible_stock(self._visible, end_of_product(self._visible))
        self._product_end = self._stock.end
        self._source = PriceSource.JSON_LD

    def structured_offer(self) -> Offer | None:
        """The offer of JSON-LD with what it lacks from microdata, or that of microdata."""
        found: Offer | None = None
        for source, nodes in (
            (PriceSource.JSON_LD, self._structured.json_ld),
            (PriceSource.MICRODATA, self._structured.microdata),
        ):
            product = main_product(nodes, self._identity, self.regional)
            if product is None or not product.offers:
                continue
            offer = self._chosen(product.offers)
            if found is None or (found.price is None and offer.price is not None):
                self._source = source
                known = found.availability if found else Availability.UNKNOWN
                found = offer
                if known is not Availability.UNKNOWN:
                    found = found._replace(availability=known)
            elif found.availability is Availability.UNKNOWN:
                found = found._replace(availability=offer.availability)
        return found

    def state_offer(self) -> Offer | None:
        """From the initial state of the page's scripts."""
        return offer_in_state(self._elements.of("script"), self._identity, self.regional)

    def _chosen(self, offers: list[Offer]) -> Offer:
        prices = {offer.price for offer in offers} - {None}
        seen = self._seen if len(prices) > 1 else None
        return chosen_offer(offers, self._identity, seen.current if seen else None)

    @cached_property
    def _seen(self) -> VisiblePrice | None:
        stock = self._stock
        find = partial(
            visible_price,
            self._visible,
            self.regional,
            [button.at for button in stock.buttons],
            own_button=stock.own_button,
        )
        seen = find(stock.others)
        return seen if seen or stock.others >= stock.end else find(stock.end)

    def price_of(self, offer: Offer | None, source: PriceSource | None = None) -> Price | None:
        if offer is None or offer.price is None:
            return None
        return Price(
            current=offer.price,
            list=offer.list_price,
            currency=offer.currency,
            source=source or self._source,
        )

    def agreed(self, declared: list[Price | None]) -> Price | None:
        """The first declared price, or the declared one that people see; without any, the visible
        price."""
        prices = [price for price in declared if price is not None]
        if len({price.current for price in prices}) > 1 and self._seen is not None:
            seen = self._seen.current
            return next((price for price in prices if price.current == seen), prices[0])
        return prices[0] if prices else self._seen_price() or self._marked_price()

    def _seen_price(self) -> Price | None:
        seen = self._seen
        if seen is None:
            return None
        is_sold = seen.is_marked or self._stock.buttons
        if not is_sold and is_typed_article(self._structured):
            return None  # it mentions what something costs elsewhere
        return Price(
            current=seen.current, list=seen.list, currency=seen.currency, source=PriceSource.TEXT
        )

    def _marked_price(self) -> Price | None:
        """In an attribute of an element outside of any item."""
        marked = (
            node.attributes.get("content") or node.attributes.get("data-price")
            for node in self._tree.css(_MARKED_PRICE)[:_MOST_MARKED]
            if not self._visible.around_element(node).neighbour
        )
        amounts = {amount for one in marked if (amount := machine_amount(one)) is not None}
        if len(amounts) != 1:
            return None
        return Price(current=amounts.pop(), source=PriceSource.MICRODATA)

    def completed(self, price: Price) -> Price:
        """With the visible list price and currency, where none is declared."""
        if price.source is not PriceSource.TEXT:
            price = self._compared(price)
        if price.currency is None:
            seen = self._seen
            currency = seen.currency if seen else None
            price = replace(price, currency=currency or self._country_currency)
        return price

    def _compared(self, price: Price) -> Price:
        """With what people see beside it. A declared price that is struck out on the page, or that
        differs by a factor of a hundred or a thousand, is wrong."""
        places = shown_at(self._visible, price.current, self._product_end)
        is_struck = bool(places) and all(self._visible.around(at).struck for at in places)
        seen = self._seen if is_struck or not places else None
        if seen is not None and is_struck and seen.current < price.current:
            return replace(price, current=seen.current, list=price.current, source=PriceSource.TEXT)
        if seen is not None and seen.current / price.current in _SCALES:
            return replace(price, current=seen.current, list=seen.list)
        if seen is not None and not places and self._is_sure(seen, price):
            return self._seen_price() or price
        if price.list is not None:
            return price
        listed = list_price_beside(
            self._visible, price.current, places, self.regional, self._product_end
        )
        return replace(price, list=listed)

    def _is_sure(self, seen: VisiblePrice, price: Price) -> bool:
        """Whether a visible price overrules a declared one that the page does not show."""
        return (
            seen.score >= _SURE_SCORE
            and self._stock.can_be_bought
            and seen.currency is not None
            and price.currency in (None, seen.currency)
            and (
                price.current / 2 < seen.current < price.current * 2
                or any(abs(seen.current / price.current / each - 1) < _ROUNDED for each in _SCALES)
            )
        )

    def checked(self, availability: Availability, *, is_product: bool) -> Availability:
        """The declared availability, unless the page says that the product is sold out and has no
        button to buy it. What the page says in words only counts on product pages: an article
        mentions things that are available, a wall says that the page is not."""
        stock = self._stock
        if availability is Availability.UNKNOWN:
            if not is_product:
                is_gone = stock.is_gone and self._visible.is_titled
                return Availability.OUT_OF_STOCK if is_gone else availability
            if stock.availability is not Availability.UNKNOWN:
                return stock.availability
            is_sold = has_buy_markup(self._tree, self._visible)
            return Availability.IN_STOCK if is_sold else marked_stock(self._tree, self._visible)
        if stock.marked is Availability.OUT_OF_STOCK and not stock.can_be_bought:
            return Availability.OUT_OF_STOCK
        return availability
