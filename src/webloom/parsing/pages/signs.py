"""Features of a page that its kind is recognised by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webloom.domain.price import Price
from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.html_tree.structured import Structured, types_of
from webloom.parsing.phrases import phrases

SMALL: Final = 1500  # characters of main text that a wall or an error page has at most
_MAX_SOURCE: Final = 300_000  # characters of markup
_LIKE_BUTTONS: Final = (
    "[role=button]:not(button, input), a:not([role=button]):is([class*=btn i], [class*=button i],"
    " [class*=cart i], [class*=buy i], [href^=javascript], [onclick])"
)
_REPLIES: Final = "[itemprop=comment], [id^=comment-], [id^=post-]"
_BYLINE: Final = "[rel~=author], [itemprop=author], .byline, .author, article time"
_PAGINATION: Final = "link[rel=next], a[rel~=next], .pagination, .pager"
_MAX_LINKS: Final = 300  # a wall has far fewer
_MAX_FIELDS: Final = 300
_A_FEW: Final = 3
_MAX_BUTTONS: Final = 300
_MAX_LABEL: Final = 60  # characters of what a button says
_MAX_NAME: Final = 200
_NAMING: Final = ("id", "class", "name", "onclick", "href", "data-action")
_MAX_CARDS: Final = 1000
_MANY_PARAGRAPHS: Final = 8
_MAX_PARAGRAPHS: Final = 300
_LONG_PARAGRAPH: Final = 120  # characters
# What a button says with which one buys.
_BUY: Final = phrases(
    r"""
    add to (?:cart|bag|basket|trolley) | buy (?:it )?now | place (?:a )?bid | pre-?order
    \x{1f}buy\x{1f} | in den (?:warenkorb|einkaufswagen) | jetzt kaufen | ajouter au panier
    acheter | añadir al carrito | añadir a la cesta | agregar al carr | comprar
    aggiungi al carrello | acquista | adicionar (?:ao carrinho|à sacola|ao cesto) | in winkelwagen
    do koszyka | kup teraz | do košík | v košarico | u košaricu | naroči | kupi | adaugă în co
    adauga in cos | lägg i (?:varukorg|kundvagn) | læg i kurv | legg i handle | lisää ostoskoriin
    lisa (?:ostu)?korvi | sepete ekle | kosárba | в корзину | купить | до кошика | купити
    στο καλάθι | הוסף לסל | أضف إلى | 加入購物車 | 加入购物车 | 立即購買 | カートに入れる | 장바구니
    """
)
# What such a button is called in the markup, whatever it says; without - and _.
_BUY_NAMES: Final = re.compile(
    r"addto(?:cart|basket|bag)|additemtocart|button(?:cart|buy)|btn(?:cart|buy)"
    r"|buy(?:now|btn|process)|javascript:buy"
)
_MANY_TO_BUY: Final = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeSigns:
    """Those of the whole tree, to be seen before anything is taken out of it."""

    buy_button: str | None  # what it says, or is called; None too where there are many
    has_quantity: bool  # how many are wanted can be said
    link_count: int  # of the first of them
    paragraph_count: int  # long ones
    code_count: int
    reply_count: int
    has_password: bool
    has_form: bool
    has_article: bool
    has_byline: bool
    has_pagination: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Signs:
    status_code: int
    host: str
    path: str  # with the query, lower case, unescaped
    title: str
    heading: str
    text: str  # the beginning of the main text, lower case
    main_length: int  # characters without menus and the like, white space not counted
    card_count: int  # of things side by side that look alike, each with a link
    source: str  # the markup; empty for a page that is certainly not a wall
    types: frozenset[str]  # of structured data, lower case
    product_count: int
    open_graph_type: str
    generator: str
    price: Price | None
    is_empty: bool  # there is not even markup
    tree: TreeSigns

    @property
    def is_product(self) -> bool:
        return "product" in self.types or "productgroup" in self.types


def tree_signs(tree: LexborHTMLParser, elements: Elements) -> TreeSigns:
    paragraph_count = _paragraph_count(elements.of("p"))
    with_fields = elements.of("input", "textarea", "select", "form")[:_MAX_FIELDS]
    fields = [node.attributes for node in with_fields]
    types = {(field.get("type") or "").lower() for field in fields if "action" not in field}
    return TreeSigns(
        buy_button=_buy_button(tree, elements),
        has_quantity=any(map(_is_quantity, fields)),
        link_count=sum("href" in node.attrs for node in elements.of("a")[:_MAX_LINKS]),
        paragraph_count=paragraph_count,
        code_count=len(elements.places("pre")),
        reply_count=len(tree.css(_REPLIES)),
        has_password="password" in types,
        has_form=not types <= {"hidden"},
        has_article=bool(elements.places("article")),
        has_byline=paragraph_count >= _A_FEW and tree.css_matches(_BYLINE),
        has_pagination=tree.css_matches(_PAGINATION),
    )


def card_count(tree: LexborHTMLParser, signs: TreeSigns) -> int:
    """Of the main part: the largest number of siblings of one class, each with a link. None is
    counted where there is a lot to read."""
    if signs.paragraph_count >= _MANY_PARAGRAPHS:
        return 0
    counts: dict[tuple[int, str], int] = {}
    for node in tree.css("li > a, article a, div[class] > a, h2 > a, h3 > a")[:_MAX_CARDS]:
        card = node.parent
        if card is not None and card.tag in ("h2", "h3"):
            card = card.parent
        if card is None or (around := card.parent) is None:
            continue
        name = (around.mem_id, f"{card.tag} {card.attrs.sget('class')[:60]}")
        counts[name] = counts.get(name, 0) + 1
    return max(counts.values(), default=0)


def small_source(text: str, main_length: int) -> str:
    """The markup of a page that may be a wall; empty for others."""
    is_small = main_length <= SMALL and len(text) <= _MAX_SOURCE
    return text if is_small else ""


def types_in(structured: Structured) -> tuple[frozenset[str], int]:
    """The types of the items of the page, lower case, and how many products there are."""
    items = [*structured.json_ld, *structured.microdata]
    names = [name.lower() for item in items for name in types_of(item)]
    for item in items:  # a WebPage says in this what it is about
        names += _types_below(item.get("mainEntity"))
    return frozenset(names), sum(name == "product" for name in names)


def split_url(url: str) -> tuple[str, str]:
    host, _, path = url.partition("://")[2].partition("/")
    return host.lower(), "/" + unquote(path.partition("#")[0]).lower()


def _types_below(value: Any) -> Iterable[str]:
    values = value if isinstance(value, list) else [value]
    return [
        n.lower() for one in values[:50] if isinstance(one, Mapping) for n in types_of(dict(one))
    ]


def _is_quantity(field: Mapping[str, str | None]) -> bool:
    name = f"{field.get('name')} {field.get('id')}".lower()
    action = (field.get("action") or "").lower()
    return "qty" in name or "quantity" in name or "cart" in action or "basket" in action


def _buy_button(tree: LexborHTMLParser, elements: Elements) -> str | None:
    """A page where many things can be bought is not the page of one of them."""
    fields = [node for node in elements.of("input") if _is_button(node)]
    buttons = [*elements.of("button"), *fields, *tree.css(_LIKE_BUTTONS)][:_MAX_BUTTONS]
    labels = (node.text_lexbor()[:200].strip() or node.attrs.sget("value") for node in buttons)
    said = "\x1f".join(["", *(" ".join(label[:_MAX_LABEL].split()) for label in labels), ""])
    if words := _one_of(_BUY, said):
        return words
    named = [node.attributes for node in buttons]
    names = [(one.get(name) or "")[:_MAX_NAME] for one in named for name in _NAMING]
    return _one_of(_BUY_NAMES, "\n".join(names).lower().replace("-", "").replace("_", ""))


def _is_button(field: LexborNode) -> bool:
    return field.attrs.sget("type").lower() == "submit" or field.attrs.sget("role") == "button"


def _one_of(pattern: Any, text: str) -> str | None:
    times = Counter(found[0].strip("\x1f").lower() for found in pattern.finditer(text))
    return next((words for words, count in times.items() if count <= _MANY_TO_BUY), None)


def _paragraph_count(paragraphs: list[LexborNode]) -> int:
    lengths = (len(node.text_lexbor()) for node in paragraphs[:_MAX_PARAGRAPHS])
    return sum(length >= _LONG_PARAGRAPH for length in lengths)
