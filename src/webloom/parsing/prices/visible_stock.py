"""Availability that people see: buttons to buy with, and what is said beside the product."""

from __future__ import annotations

from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.prices.availability import BUY, STATEMENTS
from webloom.parsing.prices.visible_text import FAR, VisibleText

_BEFORE_HEADLINE: Final = 1500  # characters
_STATEMENT_AFTER: Final = 4000  # farther on, what is said is of something else
_MOST_FOUND: Final = 80
_MOST_WORDS: Final = 160  # characters of a piece of text that can be a message of this kind
_MOST_LOOSE_WORDS: Final = 60

_BUY_MARKUP: Final = (
    ":is(form, button, input, a, img)"
    ':is([id*="addtocart" i], [id*="add-to-cart" i], [id*="add_to_cart" i], '
    '[class*="addtocart" i], [class*="add-to-cart" i], [class*="add_to_cart" i], '
    '[class*="add-to-basket" i], [name="add-to-cart"], [data-action*="add-to-cart" i], '
    '[action*="cart/add" i], [href*="add-to-cart" i], [href*="addtocart" i], '
    '[onclick*="cart" i], [id*="buy-now" i], [class*="buy-now" i], [class*="buynow" i])'
)


class Button(NamedTuple):
    at: int
    enabled: bool


class VisibleStock(NamedTuple):
    marked: Availability  # said in an element that is made for it
    loose: Availability  # said anywhere near the product
    buttons: list[Button]

    @property
    def can_be_bought(self) -> bool:
        return any(button.enabled for button in self.buttons)

    @property
    def availability(self) -> Availability:
        """A message that it is out of stock, with a button to buy it, is of another size or for
        later use."""
        if self.marked is not Availability.UNKNOWN and not self.can_be_bought:
            return self.marked
        if self.can_be_bought:
            later = Availability.PRE_ORDER
            return later if later in (self.marked, self.loose) else Availability.IN_STOCK
        if self.loose is not Availability.UNKNOWN:
            return self.loose
        return Availability.OUT_OF_STOCK if self.buttons else Availability.UNKNOWN


def visible_stock(visible: VisibleText) -> VisibleStock:
    marked, loose = _statements(visible)
    return VisibleStock(marked, loose, _buy_buttons(visible))


def has_buy_markup(tree: LexborHTMLParser, visible: VisibleText) -> bool:
    """Whether the page has a button or form to buy with, in whatever language."""
    for node in tree.css(_BUY_MARKUP)[:_MOST_FOUND]:
        around = visible.around_element(node)
        if not around.neighbour and not around.disabled:
            return True
    return False


def _buy_buttons(visible: VisibleText) -> list[Button]:
    start = max(0, visible.headline - _BEFORE_HEADLINE)
    window = visible.text[start : visible.headline_end + FAR]
    buttons: list[Button] = []
    for count, found in enumerate(BUY.finditer(window)):
        if count == _MOST_FOUND:
            break
        at = start + found.start()
        around = visible.around(at)
        if not around.neighbour and (around.button or around.link):
            buttons.append(Button(at, not around.disabled))
    return buttons


def _statements(visible: VisibleText) -> tuple[Availability, Availability]:
    start = max(0, visible.headline - _BEFORE_HEADLINE)
    window = visible.text[start : visible.headline_end + _STATEMENT_AFTER]
    said: dict[tuple[int, int], Availability] = {}
    for pattern, availability in STATEMENTS:
        for count, found in enumerate(pattern.finditer(window)):
            if count == _MOST_FOUND:
                break
            said.setdefault(visible.piece_at(start + found.start()), availability)
    marked = loose = Availability.UNKNOWN
    for (begin, end), availability in sorted(said.items()):
        if visible.headline <= begin < visible.headline_end or end - begin > _MOST_WORDS:
            continue
        around = visible.around(begin)
        if around.neighbour or around.hidden:
            continue
        if around.stock and marked is Availability.UNKNOWN:
            marked = availability
        elif loose is Availability.UNKNOWN and not around.link and end - begin <= _MOST_LOOSE_WORDS:
            loose = availability
    return marked, loose
