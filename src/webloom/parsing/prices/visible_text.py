"""The text of a page as one string, around its headline, that remembers which element each piece
is from."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webloom.parsing.html_tree.elements import TEXT, Elements
from webloom.parsing.prices.identity import PageIdentity
from webloom.parsing.words import by_word

BOUNDARY: Final = "\x1f"  # between the texts of two elements

FAR: Final = 12_000  # characters after the headline: text beyond that is ignored

_MOST_NODES: Final = 40_000
_MOST_CHARACTERS: Final = 400_000
_MOST_PIECE: Final = 2000
_MOST_OF_HEADLINES: Final = 1_000_000  # characters; elements may be nested, so this adds up
_MOST_TITLE_PIECES: Final = 5000
_MOST_BUTTON_WORDS: Final = 40
_MOST_ABOVE: Final = 500  # elements around the headline
_TITLED: Final = 0.6  # the share of a headline's words that are in the title of the page
_TOLD: Final = ("h1", "input", "img")
_BLOCKS: Final = frozenset({"p", "li", "td", "th", "dd", "dt", "tr", "option", "h2", "h3", "h4"})
_WITHOUT_TEXT: Final = frozenset({"script", "style", "template", "noscript", "textarea", "svg"})

_NEIGHBOUR: Final = re.compile(
    r"related|recom+end|similar|cross-?_?sell|up-?_?sell|carousel|slider|swiper|slick|owl-|also-|-also|"
    r"alsobought|(?<!buy-)(?<!product-)(?<!card-)(?<!price-)footer|minicart|mini-cart|mini_cart|cart-(?:summary|preview|drawer|item|total)|"
    r"recent|viewed|history|accessor|suggest|alternativ|sponsor|teaser|(?:product|item|offer)s?[-_]*"
    r"(?:card|tile|list|grid|row|box)s?\b|productcard|producttile|plp|compare|filter|facet|review|comment|"
    r"breadcrumb|bundle|frequently|together|banner|advert|promo-?box|newsletter|best-?sell|you-?may|"
    r"search-|autocomplete|wishlist|crossroad|cookie|consent",
)
_LISTS: Final = re.compile(r"related|recom+end|similar|sell|also|compare|filter|facet|footer|cart")
_PRICE_WORDS: Final = re.compile(
    r"price|preis|prix|preci|prezz|preco|prec(?:o|io)\b|(?<![a-z])cen[ay]|(?<![a-z])pris(?![a-z])|prijs|fiyat|"
    r"hinta|(?<![a-z])kaina|amount|(?<![a-z])cost|tsena|money|(?<![a-z])harga"
)
_REDUCED_FROM: Final = re.compile(
    r"(?<![a-z])old|price-?_?old|old(?:-|_)?price|(?<![a-z])was(?![a-z])|regular|(?<!with-)(?<!has-)list-?_?price|rrp|msrp|pvp(?:r|$)|uvp|strike|"
    r"before|original|cross(?:ed)|previous|prev-|compare-?at|compare-price|barr(?:ed|e)|tachad|retail|"
    r"full-?price|price[-_]{1,2}full(?![a-z])|discounted-from|stroke|linethrough|line-through|through|ancien|avant|antes|(?<![a-z])anterior|"
    r"streich|gammel|vecchi|listino|stara|_disc\b|undiscount|non-?discount|wasprice|nonsale|stock-price|"
    r"(?<![a-z])(?:eski|vorher|antigu?o|viejo|poprzedni|przekresl|puvodni|povodn[ae]|eredeti)"
)
_STRUCK: Final = re.compile(r"line-through|linethrough|strike|crossed|barred|tachad")
_NOT_THE_PRICE: Final = re.compile(
    r"shipping|delivery|versand|livraison|installment|instalment|financ|credit|kredit|month|saving|discount-?(?:am|pe|va)"
    r"|coupon|voucher|loyal|points|bonus|cashback|ex(?:cl[a-z]*)?-?_?(?:tax|vat)|without-?tax|price-tax|unit-?_?price|price-?(?:per-?)?unit|per-?unit|base-?price|"
    r"grundpreis|deposit|rating|percent|quantity|qty|option|swatch|filter|range-|tooltip|(?<![a-z])count|counter|"
    r"emi(?![a-z])|cuota|parcel|sku|(?<![a-z])stars?(?![a-z])|badge|warranty|insurance|garant"
)
_STOCK_WORDS: Final = re.compile(
    r"stock|availab|dispon|dispo(?![a-z])|lager|verf[uü]gbar|sklad|inventory|lieferbar|dostup|voorraad|nalich|sold-?out|stok"
)
_BUY_WORDS: Final = re.compile(
    r"add-?_?to|addto|buy|(?<![a-z])btn|button|cart|basket|purchase|checkout|submit|comprar|kaufen|koupit|koszyk|kosik"
)
_HIDDEN: Final = re.compile(r"display:\s*none|visibility:\s*hidden")
_OFF: Final = re.compile(r"(?<![a-z])(?:disabled|is-disabled|btn-disabled)(?![a-z])")


# What one element says of the text inside it.
_NEIGHBOUR_BIT: Final = 1
_LINK_BIT: Final = 2
_PRICE_BIT: Final = 4
_REDUCED_BIT: Final = 8
_OTHER_BIT: Final = 16
_STOCK_BIT: Final = 32
_BUTTON_BIT: Final = 64
_DISABLED_BIT: Final = 128
_HIDDEN_BIT: Final = 256
_STRONG_BIT: Final = 512
_ITEM_PRICE_BIT: Final = 1024
_STRUCK_BIT: Final = 2048
_FROM_AFAR: Final = _NEIGHBOUR_BIT | _LINK_BIT | _HIDDEN_BIT  # whatever the distance
_NEAR: Final = ~_OTHER_BIT  # "delivery" two elements up is the name of a box that has prices too
_MOST_LEVELS: Final = 14
_COUNTING: Final = (~0, ~0, _NEAR, _NEAR, *[_FROM_AFAR] * (_MOST_LEVELS - 4))  # bits, by level


class _Flag:
    """A bit of `Surroundings` as an attribute."""

    def __init__(self, bit: int) -> None:
        self._bit = bit

    def __get__(self, around: Surroundings, owner: object) -> bool:
        return around.bits & self._bit != 0


@dataclass(slots=True)
class Surroundings:
    """What the elements around a piece of text say about it, up to the first that also contains
    the headline."""

    bits: int
    signature: str  # tag and class of the two nearest elements

    neighbour = _Flag(_NEIGHBOUR_BIT)  # inside a list of other products, a footer or the like
    link = _Flag(_LINK_BIT)
    price = _Flag(_PRICE_BIT)
    item_price = _Flag(_ITEM_PRICE_BIT)
    reduced_from = _Flag(_REDUCED_BIT)
    struck = _Flag(_STRUCK_BIT)
    other_amount = _Flag(_OTHER_BIT)  # shipping, a monthly rate, the amount saved
    stock = _Flag(_STOCK_BIT)
    button = _Flag(_BUTTON_BIT)
    disabled = _Flag(_DISABLED_BIT)
    hidden = _Flag(_HIDDEN_BIT)
    strong = _Flag(_STRONG_BIT)


@dataclass
class VisibleText:
    text: str
    headline: int  # where the headline begins
    headline_end: int
    is_titled: bool  # the headline is that of the page's title
    _starts: list[int]
    _nodes: list[LexborNode]
    _above_headline: frozenset[int]
    _around: dict[int, Surroundings] = field(default_factory=dict)
    _elements: dict[int, tuple[int, str]] = field(default_factory=dict)

    def _node_at(self, at: int) -> LexborNode:
        return self._nodes[bisect_right(self._starts, at) - 1]

    def piece_at(self, at: int) -> tuple[int, int]:
        """Where the text of one element begins and ends."""
        index = bisect_right(self._starts, at) - 1
        end = self._starts[index + 1] - 1 if index + 1 < len(self._starts) else len(self.text)
        return self._starts[index], end

    def begins_block(self, at: int) -> bool:
        """Whether a piece of text is the first of a paragraph, cell or the like of its own."""
        node = self._node_at(at)
        parent = _element_of(node)
        for _ in range(3):
            if parent is None or parent.first_child != node:
                return False
            if parent.tag in _BLOCKS or (
                parent.tag == "div" and not self.around_element(parent).price
            ):
                return True
            node, parent = parent, parent.parent
        return False

    def is_raised(self, at: int) -> bool:
        """Whether a piece of text is written above the line, as cents are."""
        parent = self._node_at(at).parent
        return parent is not None and parent.tag == "sup"

    def elements_above(self, at: int) -> list[LexborNode]:
        """The elements around a piece of text, nearest first, up to the first that also contains
        the headline."""
        current = _element_of(self._node_at(at))
        above: list[LexborNode] = []
        while current is not None and len(above) < _MOST_LEVELS:
            if current.mem_id in self._above_headline:
                break
            above.append(current)
            current = current.parent
        return above

    def around(self, at: int) -> Surroundings:
        index = bisect_right(self._starts, at) - 1
        if index < 0:
            return Surroundings(0, "")
        node = self._nodes[index]
        around = self._around.get(node.mem_id)
        if around is None:
            around = self._around[node.mem_id] = self.around_element(_element_of(node))
        return around

    def around_element(self, element: LexborNode | None) -> Surroundings:
        bits = 0
        signature = ""
        current = element
        for level in range(_MOST_LEVELS):
            if current is None or (mark := current.mem_id) in self._above_headline:
                break
            read = self._elements.get(mark)
            if read is None:
                read = self._elements[mark] = _read_element(current)
            bits |= read[0] & _COUNTING[level]
            if level < 2:
                signature += read[1]
            current = current.parent
        return Surroundings(bits, signature)


def read_visible_text(
    tree: LexborHTMLParser, elements: Elements, identity: PageIdentity
) -> VisibleText:
    """The text from the top of the page to well after the headline."""
    reader = _Reader(identity)
    bodies = elements.places("body")
    if tree.body is not None and bodies:
        reader.read(elements, bodies[0])
    return reader.result(tree.body)


def _element_of(node: LexborNode) -> LexborNode | None:
    return node.parent if node.is_text_node else node


def _is_code(text: LexborNode) -> bool:
    parent = text.parent
    return parent is not None and parent.tag in _WITHOUT_TEXT


class _Reader:
    def __init__(self, identity: PageIdentity) -> None:
        self._length = 0
        self._limit = _MOST_CHARACTERS
        self._identity = identity
        self._pieces: list[str] = []
        self._nodes: list[LexborNode] = []
        self._headline: tuple[LexborNode, int, int] | None = None  # where it begins and ends
        self._headlines_left = _MOST_OF_HEADLINES

    def read(self, elements: Elements, start: int) -> None:
        places = elements.places(TEXT, *_TOLD)
        not_texts = set(elements.places(*_TOLD))
        after_code = {place + 1 for place in elements.places(*_WITHOUT_TEXT)}
        all_nodes, nodes, pieces = elements.nodes, self._nodes, self._pieces
        for place in places[bisect_left(places, start) : bisect_right(places, start + _MOST_NODES)]:
            node = all_nodes[place]
            if place in not_texts:
                self._add_other(node)
                continue
            if place in after_code:
                after_code.add(place + 1)
                if _is_code(node):
                    continue
            if piece := node.text_content:
                piece = piece[:_MOST_PIECE]
                nodes.append(node)
                pieces.append(piece)
                self._length += len(piece) + 1
                if self._length > self._limit:
                    break

    def _add_other(self, node: LexborNode) -> None:
        if node.tag == "h1":
            self._add_headline(node)
        elif words := _button_words(node):
            self._nodes.append(node)
            self._pieces.append(words)
            self._length += len(words) + 1

    def _add_headline(self, node: LexborNode) -> None:
        """The first that has the words of the title, or the first of all."""
        if self._limit < _MOST_CHARACTERS or self._headlines_left <= 0:
            return
        words = node.text()
        self._headlines_left -= len(words)
        words = words[:_MOST_PIECE]
        if not words.strip():
            return
        is_titled = self._identity.title_share(words[:500]) >= _TITLED
        if is_titled or self._headline is None:
            self._headline = (node, self._length, self._length + len(words))
        if is_titled:
            self._limit = self._length + len(words) + FAR

    def result(self, body: LexborNode | None) -> VisibleText:
        starts = list(accumulate((len(piece) + 1 for piece in self._pieces), initial=0))[:-1]
        is_titled = self._limit < _MOST_CHARACTERS
        titled = self._headline if is_titled else self._titled_piece(starts)
        self._headline = titled or self._headline
        node, start, end = self._headline or (None, 0, 0)
        above: set[int] = set()
        parent = node.parent if node else body
        while parent is not None and len(above) < _MOST_ABOVE:
            above.add(parent.mem_id)
            parent = parent.parent
        text = BOUNDARY.join(self._pieces)
        return VisibleText(
            text, start, end, titled is not None, starts, self._nodes, frozenset(above)
        )

    def _titled_piece(self, starts: list[int]) -> tuple[LexborNode, int, int] | None:
        """Some text that is the title, on pages whose headline is not an h1."""
        shortest = max(8, self._identity.shortest_title())
        telling = self._identity.telling_words()
        for node, start, piece in zip(
            self._nodes[:_MOST_TITLE_PIECES], starts, self._pieces, strict=False
        ):
            if not shortest <= len(piece) <= 200:
                continue
            lowered = piece.lower()
            for word in telling:
                if word in lowered:
                    break
            else:
                continue
            if self._identity.is_title(piece):
                return node, start, start + len(piece)
        return None


def _button_words(node: LexborNode) -> str:
    """Of a button that is an input or a picture."""
    attributes = node.attributes
    if node.tag == "input" and attributes.get("type") not in ("submit", "button", "image"):
        return ""
    words = attributes.get("value") or attributes.get("alt") or attributes.get("title") or ""
    return words if len(words) <= _MOST_BUTTON_WORDS else ""


@lru_cache(maxsize=8192)
def _bits_of_words(words: str) -> int:
    bits = 0
    for pattern, bit in _BY_CLASS:
        if pattern.search(words):
            bits |= bit
    is_part_of_price = bits & _PRICE_BIT and not _LISTS.search(words)
    return bits & ~_NEIGHBOUR_BIT if is_part_of_price or "add-to" in words else bits


def _read_element(node: LexborNode) -> tuple[int, str]:
    tag = node.tag or ""
    attributes = node.attributes
    if not attributes:
        return _BUTTON_BIT if tag == "a" else _BY_TAG.get(tag, 0), f"{tag}.|"
    named = [value for name in _NAMING if (value := attributes.get(name))]
    words = " ".join(named)[:300].lower()
    bits = _BY_TAG.get(tag, 0) | (_bits_of_words(words) if words else 0)
    if style := attributes.get("style"):
        style = style[:500].lower()
        bits |= _REDUCED_BIT | _STRUCK_BIT if "line-through" in style else 0
        bits |= _STRONG_BIT if "font" in style else 0
        bits |= _HIDDEN_BIT if _HIDDEN.search(style) else 0
    if tag == "a":
        leads_away = not (attributes.get("href") or "#").startswith(("#", "javascript:"))
        bits |= _LINK_BIT if leads_away else _BUTTON_BIT
    if attributes.get("itemprop") == "price":
        bits |= _ITEM_PRICE_BIT
    if attributes.get("role") == "button":
        bits |= _BUTTON_BIT
    if "disabled" in attributes:
        bits |= _DISABLED_BIT
    if "hidden" in attributes:
        bits |= _HIDDEN_BIT
    return bits, f"{tag}.{words}|"


_NAMING: Final = ("class", "id", "itemprop", "data-test", "data-testid", "data-hook")
_BY_TAG: Final = by_word(
    {
        _NEIGHBOUR_BIT: "footer nav header option aside",
        _REDUCED_BIT | _STRUCK_BIT: "del s strike",
        _STRONG_BIT: "strong b h2 h3 h4",
        _BUTTON_BIT: "button input",
    }
)
_BY_CLASS: Final = (
    (_NEIGHBOUR, _NEIGHBOUR_BIT),
    (_PRICE_WORDS, _PRICE_BIT),
    (_REDUCED_FROM, _REDUCED_BIT),
    (_NOT_THE_PRICE, _OTHER_BIT),
    (_STOCK_WORDS, _STOCK_BIT),
    (_BUY_WORDS, _BUTTON_BIT),
    (_OFF, _DISABLED_BIT),
    (_STRUCK, _STRUCK_BIT),
)
