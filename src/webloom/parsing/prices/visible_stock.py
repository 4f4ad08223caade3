"""Visible availability: buy buttons, and statements beside the product."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.phrases import phrases
from webloom.parsing.prices.availability import (
    BUY,
    STATEMENTS,
    is_alone,
    is_negated,
    structured_availability,
)
from webloom.parsing.prices.neighbours import heading_of_others, is_in_list, list_of_others
from webloom.parsing.prices.visible_numbers import price_on_request
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

_MARKED_STOCK: Final = '[property="availability"], [property="schema:availability"]'

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
_BUTTONS: Final = ("button.", "input.", "a.")  # "Notify me" may be of anything
_MOST_SHORT: Final = 40  # characters of a message in the place of a button
_OF_THIS: Final = re.compile(
    r"\W*(?:(?:sorry|unfortunately|leider|désolée?s?|lo sentimos|helaas|niestety|spiacenti)\W+)?"
    r"(?:(?:this|the|your)\s(?:\w+\s)?(?:item|product|listing|auction|lot|article|ad|book|title)|"
    r"(?:diese[rs]?|der|das|die)\s(?:artikel|produkt|ware|titel|anzeige|angebot|auktion)|"
    r"(?:cet|cette|ce|le|l.)\s?(?:article|produit|annonce|livre|offre)|"
    r"(?:est[ea]|el|o|a)\s(?:producto|artículo|anuncio|produto|artigo|anúncio|item|livro|libro)|"
    r"(?:quest[oa.]|il|l.)\s?(?:prodotto|articolo|annuncio|libro)|"
    r"(?:dit|deze|het|de)\s(?:product|artikel|advertentie|boek)|"
    r"(?:ten|ta|to|tento|toto|táto)\s(?:produkt|towar|oferta|ogłoszenie|zboží|tovar)|"
    r"(?:den här|denna|denne|dette)\s(?:produkt\w*|artikel\w*|vare\w*|annons\w*)|"
    r"(?:этот|данный|цей|даний|този)\s(?:товар|продукт|лот)|bu\sürün|この商品|(?:此|該|该)商品)",
    re.I,
)


class Button(NamedTuple):
    at: int
    enabled: bool
    waits: bool  # off until something is chosen, or until the scripts of the page ran; or vague


class VisibleStock(NamedTuple):
    marked: Availability  # said in an element that is made for it
    loose: Availability  # said anywhere near the product
    buttons: list[Button]
    is_named: bool  # the element of what is marked is called by what it tells of
    is_in_place: bool  # short words where the button to buy would be say that it is out of stock
    end: int  # of the product in the text
    others: int  # where a list of things begins that have buttons of their own, or the end
    own_button: int | None  # the first that works, unless it is that of one of several things

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
        is_named = self.marked is Availability.OUT_OF_STOCK and self.is_named
        return (is_named or self.is_in_place) and not self.buttons


class _Said(NamedTuple):
    marked: Availability
    loose: Availability
    is_named: bool
    is_in_place: bool
    out_at: list[int]


def visible_stock(visible: VisibleText, end: int) -> VisibleStock:
    """Up to the end of the product in the text."""
    marked, loose, is_named, is_in_place, out_at = _statements(visible, end)
    buttons = _buy_buttons(visible, end)
    others = _start_of_others(visible, buttons, out_at)
    if others is not None and not any(button.enabled and button.at < others for button in buttons):
        buttons = [button for button in buttons if button.at < others]
        end = min(end, others)
    if loose is _OUT and not any(button.enabled for button in buttons):
        asking = _asking_button(visible, end)
        if asking is not None:  # what is out of stock is one of the sizes
            loose = Availability.UNKNOWN
            buttons.append(asking)
    own = _own_button(visible, buttons, others)
    return VisibleStock(marked, loose, buttons, is_named, is_in_place, end, others or end, own)


def _own_button(visible: VisibleText, buttons: list[Button], others: int | None) -> int | None:
    enabled = [button.at for button in buttons if button.enabled]
    if not enabled or enabled[0] < visible.headline_end:
        return None
    is_of_list = others is None and list_of_others(visible, enabled) is not None
    return None if is_of_list else enabled[0]


def _start_of_others(visible: VisibleText, buttons: list[Button], out_at: list[int]) -> int | None:
    """Where other products begin that can be bought, on a page that has a button for its own before
    them, or says there that it cannot be bought, or that one has to ask for its price."""
    enabled = [button.at for button in buttons if button.enabled]
    if not enabled or enabled[0] < visible.headline:
        return None
    statements = [enabled[0], *out_at, *price_on_request(visible, enabled[0])]
    if not visible.is_titled:
        start = heading_of_others(visible)
        if start <= enabled[0] and any(at < start for at in statements):
            return start
    if (found := list_of_others(visible, enabled)) is None:
        return None
    start, item = found
    is_apart = any(at < start and not is_in_list(visible, at, item) for at in statements)
    return start if is_apart else None


def has_buy_markup(tree: LexborHTMLParser, visible: VisibleText) -> bool:
    """Whether the page has a button or form to buy with, in whatever language."""
    found = map(visible.around_element, tree.css(_BUY_MARKUP)[:_MOST_FOUND])
    return any(not (around.neighbour or around.disabled) for around in found)


def marked_stock(tree: LexborHTMLParser, visible: VisibleText) -> Availability:
    """In attributes of elements outside of any item, where all of them agree."""
    declared = {
        structured_availability(node.attributes.get("href") or node.attributes.get("content"))
        for node in tree.css(_MARKED_STOCK)[:_MOST_FOUND]
        if not visible.around_element(node).neighbour
    }
    return declared.pop() if len(declared) == 1 else Availability.UNKNOWN


def _buy_buttons(visible: VisibleText, end: int) -> list[Button]:
    start = max(0, visible.headline - _BEFORE_HEADLINE)
    window = visible.text[start : min(visible.headline_end + FAR, end)] + BOUNDARY
    buttons: list[Button] = []
    for found in islice(BUY.finditer(window), _MOST_FOUND):
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
    window = visible.text[start : min(start + FAR, end)]
    for found in islice(_CHOOSE.finditer(window), _MOST_FOUND):
        at = start + found.start()
        around = visible.around(at)
        if around.signature.startswith("button.") and not around.neighbour:
            return Button(at, enabled=False, waits=True)
    return None


def _is_whole(visible: VisibleText, at: int) -> bool:
    """Whether the words at a place are the first of their element."""
    return not any(map(str.isalnum, visible.text[visible.piece_at(at)[0] : at]))


def _waits(visible: VisibleText, at: int, signature: str) -> bool:
    """Whether it is off only until the page's scripts have run, or a size or the like is chosen."""
    before = visible.text[visible.headline_end : at + _AFTER_BUTTON]
    return bool(_OFF_FOR_NOW.search(signature) or _CHOOSE.search(before))


def _statements(visible: VisibleText, product_end: int) -> _Said:
    start = max(0, visible.headline - _BEFORE_HEADLINE)
    window = visible.text[start : min(visible.headline_end + _STATEMENT_AFTER, product_end)]
    window += BOUNDARY
    said: dict[tuple[int, int], Availability] = {}
    for pattern, availability in STATEMENTS:
        for found in islice(pattern.finditer(window), _MOST_FOUND):
            at = start + found.start()
            piece = visible.piece_at(at)
            if is_alone(found[0]) and not _is_whole(visible, at):
                continue
            if piece not in said:
                negated = availability is _IN and is_negated(visible.text[piece[0] : at])
                said[piece] = _OUT if negated else availability
    marked = loose = Availability.UNKNOWN
    is_named = is_in_place = False
    out_at: list[int] = []
    # What stands before the headline is often said of cookies or of the shop.
    after_first = sorted(said.items(), key=lambda one: (one[0][0] < visible.headline, one[0]))
    for (begin, end), availability in after_first:
        if visible.headline <= begin < visible.headline_end or end - begin > _MOST_WORDS:
            continue
        around = visible.around(begin)
        if around.neighbour or around.hidden:
            continue
        is_out = availability is _OUT
        is_short = end - begin <= _MOST_LOOSE_WORDS
        is_marked = around.stock or (around.button and around.disabled and is_out)
        if is_out:
            out_at.append(begin)
            is_in_place |= (
                around.button
                and not around.link
                and not around.signature.startswith(_BUTTONS)
                and end - begin <= _MOST_SHORT
            )
        if is_marked and marked is Availability.UNKNOWN:
            marked = availability
            is_named = _NAMED.search(around.signature) is not None
            continue
        if is_marked and availability is _IN and is_short:
            is_named = False  # a list of several things
        is_said = is_short or (is_out and _OF_THIS.match(visible.text, begin) is not None)
        if loose is Availability.UNKNOWN and not around.link and is_said:
            loose = availability
    return _Said(marked, loose, is_named, is_in_place, out_at)
