"""Availability that people see: buttons to buy with, and what is said beside the product."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.prices.availability import BUY, STATEMENTS, is_alone, is_refused
from webloom.parsing.prices.phrases import phrases
from webloom.parsing.prices.visible_text import BOUNDARY, FAR, VisibleText

_IN: Final = Availability.IN_STOCK
_OUT: Final = Availability.OUT_OF_STOCK
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

_OFF_FOR_NOW: Final = re.compile(r"selection-needed|product-addtocart-button|tocart(?![a-z])")
_CHOOSE: Final = phrases(
    r"""
    (?:choose|select|pick) (?:an? |your |the )?(?:option|size|colou?r|variant|style|version)
    please (?:choose|select) | (?:bitte )?(?:größe |farbe |variante |option )?(?:aus)?wählen
    choisi(?:r|ssez) | sélectionne[rz] | (?:elige|elegir|escoge|selecciona) | escolha | selecione
    selezion[ai] | scegli | kies (?:een|je|uw) | maak een keuze | wybierz | vyberte | zvolte
    wähle (?:eine|deine|bitte) | välj (?:ett|storlek|färg|variant)
    vælg (?:en|et|størrelse|farve|variant) | velg (?:et|størrelse|farge|variant)
    valitse | выберите | оберіть | seçin(?:iz)? | 選択して | 请选择 | 請選擇 | 선택 | válassz
    alege | επιλέξτε | اختر | בחר
    """
)
_NAMED: Final = re.compile(r"(?<![a-z])(?:availability|out-?of-?stock|stock-?status)(?![a-z])")
_AFTER_BUTTON: Final = 200  # characters


class Button(NamedTuple):
    at: int
    enabled: bool
    waits: bool  # off until something is chosen, or until the scripts of the page ran; or vague


class VisibleStock(NamedTuple):
    marked: Availability  # said in an element that is made for it
    loose: Availability  # said anywhere near the product
    buttons: list[Button]
    is_named: bool  # the element of what is marked is called by what it tells of

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
        if any(button.waits for button in self.buttons):
            return Availability.IN_STOCK
        return Availability.OUT_OF_STOCK if self.buttons else Availability.UNKNOWN

    @property
    def is_gone(self) -> bool:
        """Also said on pages that have no price, and nothing else to tell a product by."""
        return self.marked is Availability.OUT_OF_STOCK and self.is_named and not self.buttons


def visible_stock(visible: VisibleText, end: int) -> VisibleStock:
    """Up to the end of the product in the text."""
    marked, loose, is_named = _statements(visible, end)
    buttons = _buy_buttons(visible, end)
    if loose is _OUT and not any(button.enabled for button in buttons):
        asking = _asking_button(visible, end)
        if asking is not None:  # what is out of stock is one of the sizes
            loose = Availability.UNKNOWN
            buttons.append(asking)
    return VisibleStock(marked, loose, buttons, is_named)


def has_buy_markup(tree: LexborHTMLParser, visible: VisibleText) -> bool:
    """Whether the page has a button or form to buy with, in whatever language."""
    for node in tree.css(_BUY_MARKUP)[:_MOST_FOUND]:
        around = visible.around_element(node)
        if not around.neighbour and not around.disabled:
            return True
    return False


def _buy_buttons(visible: VisibleText, end: int) -> list[Button]:
    start = max(0, visible.headline - _BEFORE_HEADLINE)
    window = visible.text[start : min(visible.headline_end + FAR, end)] + BOUNDARY
    buttons: list[Button] = []
    for count, found in enumerate(BUY.finditer(window)):
        if count == _MOST_FOUND:
            break
        at = start + found.start()
        around = visible.around(at)
        if not around.neighbour and (around.button or around.link):
            is_bare = is_alone(found[0])
            if is_bare and not _is_whole(visible, at):
                continue
            is_vague = around.hidden or is_bare
            waits = is_vague or (around.disabled and _waits(visible, at, around.signature))
            buttons.append(Button(at, not (around.disabled or is_vague), waits))
    return buttons


def _asking_button(visible: VisibleText, end: int) -> Button | None:
    """A button that asks to choose a size or the like, instead of one to buy with."""
    start = visible.headline_end
    for count, found in enumerate(_CHOOSE.finditer(visible.text[start : min(start + FAR, end)])):
        if count == _MOST_FOUND:
            break
        at = start + found.start()
        around = visible.around(at)
        if around.signature.startswith("button.") and not around.neighbour:
            return Button(at, enabled=False, waits=True)
    return None


def _is_whole(visible: VisibleText, at: int) -> bool:
    """Whether the words at a place are the first of their element."""
    return not any(map(str.isalnum, visible.text[visible.piece_at(at)[0] : at]))


def _waits(visible: VisibleText, at: int, signature: str) -> bool:
    return bool(_OFF_FOR_NOW.search(signature)) or _is_chosen_before(visible, at + _AFTER_BUTTON)


def _is_chosen_before(visible: VisibleText, at: int) -> bool:
    """Whether people are asked to choose a size or the like."""
    return _CHOOSE.search(visible.text[visible.headline_end : at]) is not None


def _statements(visible: VisibleText, product_end: int) -> tuple[Availability, Availability, bool]:
    start = max(0, visible.headline - _BEFORE_HEADLINE)
    window = visible.text[start : min(visible.headline_end + _STATEMENT_AFTER, product_end)]
    window += BOUNDARY
    said: dict[tuple[int, int], Availability] = {}
    for pattern, availability in STATEMENTS:
        for count, found in enumerate(pattern.finditer(window)):
            if count == _MOST_FOUND:
                break
            at = start + found.start()
            piece = visible.piece_at(at)
            if is_alone(found[0]) and not _is_whole(visible, at):
                continue
            if piece not in said:
                refused = availability is _IN and is_refused(visible.text[piece[0] : at])
                said[piece] = _OUT if refused else availability
    marked = loose = Availability.UNKNOWN
    is_named = False
    for (begin, end), availability in sorted(said.items()):
        if visible.headline <= begin < visible.headline_end or end - begin > _MOST_WORDS:
            continue
        around = visible.around(begin)
        if around.neighbour or around.hidden:
            continue
        is_marked = around.stock or (around.button and around.disabled and availability is _OUT)
        if is_marked and marked is Availability.UNKNOWN:
            marked = availability
            is_named = _NAMED.search(around.signature) is not None
            continue
        if is_marked and availability is _IN and end - begin <= _MOST_LOOSE_WORDS:
            is_named = False  # a list of several things
        if loose is Availability.UNKNOWN and not around.link and end - begin <= _MOST_LOOSE_WORDS:
            loose = availability
    return marked, loose, is_named
