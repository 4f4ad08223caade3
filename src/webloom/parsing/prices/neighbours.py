# ruff: noqa: RUF001  the letters of many languages look alike
"""Where the product of a page ends: the headings of lists of other products."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Final

from selectolax.lexbor import LexborNode

from webloom.parsing.phrases import phrases
from webloom.parsing.prices.visible_text import FAR, VisibleText

_MOST_HEADING: Final = 60  # characters
_MOST_FOUND: Final = 20
_MOST_AROUND: Final = 10  # characters of a heading beside the words
_MOST_OF_HEADLINE: Final = 25
_HEADLINES: Final = ("h2.", "h3.", "h4.")
_MOST_BUTTONS: Final = 12
_MOST_ITEM: Final = 1500  # characters
_DIGITS: Final = re.compile(r"\d+")

_OTHERS: Final = phrases(
    r"""
    (?:related|similar|recommended|suggested) (?:products|items|articles|styles)
    you (?:may|might) (?:also )?(?:like|love|be interested) | (?:customers|people|others) also
    (?:customers|people) who (?:bought|viewed)(?: \pL+){1,3} also
    frequently bought | recommended for you
    recently viewed | goes (?:well|great) with | complete (?:the|your) (?:look|set)
    more from (?:this|the|our) (?:brand|shop|store|seller|collection|series)
    ähnliche (?:produkte|artikel) | das könnte (?:dir|dich|ihnen|sie|euch) auch
    kunden (?:kauften|haben|interessierten|sahen) | zuletzt angesehen | wird oft zusammen
    passend dazu | (?:passendes|passende) (?:zubehör|produkte|artikel)
    (?:produits|articles) (?:similaires|associés|apparentés|complémentaires|liés)
    vous (?:aimerez|aimeriez|pourriez) | les clients (?:qui|ont|ayant) | récemment consultés
    productos (?:relacionados|similares|recomendados) | también te (?:puede|podr)
    te (?:puede|pueden|podría) (?:también )?(?:interesar|gustar) | quienes (?:compraron|vieron)
    produtos (?:relacionados|similares|semelhantes|recomendados) | quem (?:viu|comprou)
    você também (?:pode|vai) | aproveite também | prodotti (?:correlati|simili|consigliati)
    (?:potrebbe|potrebbero) (?:anche )?(?:piacerti|interessarti) | chi ha (?:acquistato|comprato)
    gerelateerde producten | vergelijkbare (?:producten|artikelen) | misschien vind je
    (?:anderen|klanten) (?:kochten|bekeken) | laatst bekeken | produkty (?:powiązane|podobne)
    podobne produkty | polecane produkty | klienci (?:kupili|którzy)
    (?:související|podobné) (?:zboží|produkty)
    zákazníci (?:také|si|tiež) | súvisiac[eí] (?:produkty|tovar) | (?:relaterade|liknande) produkter
    (?:relaterede|lignende|relaterte) (?:produkter|varer) | du kanske också | andra köpte
    andre (?:købte|kjøpte|kunder) | liittyvät tuotteet | samankaltais | muut ostivat
    похожие товары | с этим товаром | вам (?:может|также) | вы (?:недавно )?смотрели
    (?:схожі|супутні) товари | з цим товаром | (?:benzer|ilgili|önerilen) ürünler | bunları da
    関連商品 | この商品を(?:見た|買った|チェック) | おすすめ商品 | 最近(?:チェック|見た)
    相关商品 | 相關商品 | 推薦商品 | 推荐商品 | 猜你喜 | 你可能 | 관련 ?상품 | 추천 ?상품
    (?:kapcsolódó|hasonló) termékek | produse (?:similare|asemănătoare|recomandate)
    (?:σχετικά|παρόμοια) προϊόντα | (?:подобни|свързани) продукти | sorodni izdelki
    slični proizvodi | منتجات (?:مشابهة|ذات صلة) | produk (?:terkait|serupa)
    sản phẩm (?:liên quan|tương tự)
    (?:sponsored|gesponserte) (?:products|items|produkte|artikel) | also (?:viewed|bought)
    (?:similar|ähnliche) (?:titles|titel)
    (?:similar|ähnliche|podobné|podobne|подобни|похожие|схожі) (?:books|bücher|knihy|książki|книги)
    (?:livres|libros|libri|livros) (?:simil\pL+|relacionados|correlati)
    in (?:the same|der gleichen|derselben|dezelfde) [kc]at\pL+ | w tej samej kategorii
    (?:dans la même|nella stessa|en la misma|na mesma) cat\pL+
    andre (?:så|har) også | andra (?:tittade|har) också | andre (?:så|kiggede) på
    mohlo by (?:se|sa|vás|vám) | může se vám (?:líbit|hodit)
    może (?:ci|cię|spodobać) | inni (?:kupili|oglądali)
    рекоменду(?:ем|ємо)[\s:]*\x{1f} | рекомендуемые товары | покупают вместе
    (?:рекомендовані|подібні) товари
    قد يعجبك | منتجات (?:مماثلة|مقترحة|مرتبطة) | מוצרים (?:קשורים|דומים|נוספים)
    s-ar putea să | sizin için (?:seçtik|önerilen) | bunlar da (?:ilg|hoş) | mások (?:ezt|ezeket) is
    ίσως σας | δείτε επίσης | може да (?:харесате|ви хареса) | povezani (?:proizvodi|izdelki)
    panašios prekės | līdzīg\pL+ preces | (?:sarnased|seotud) tooted
    (?:看過|瀏覽|購買)此商品 | (?:看了|购买)(?:此|该)商品 | 함께 (?:본|구매한?|많이)
    สินค้า(?:ที่เกี่ยวข้อง|แนะนำ|ใกล้เคียง)
    """
)


def end_of_product(visible: VisibleText) -> int:
    """Where the first heading of other products stands behind the headline, or the text's end."""
    return heading_of_others(visible) if visible.is_titled else len(visible.text)


def heading_of_others(visible: VisibleText) -> int:
    start = visible.headline_end
    window = visible.text[start : start + FAR]
    for found in islice(_OTHERS.finditer(window), _MOST_FOUND):
        at = start + found.start()
        begin, end = visible.piece_at(at)
        around = visible.around(at)
        is_link = "|a." in f"|{around.signature}"  # also one to a place of the page itself
        most = _MOST_OF_HEADLINE if around.signature.startswith(_HEADLINES) else _MOST_AROUND
        if (
            end - begin <= _MOST_HEADING
            and _letters(visible.text[begin:at]) <= most
            and _letters(visible.text[start + found.end() : end]) <= most
            and not is_link
            and not around.link
            and not around.button
        ):
            return begin
    return len(visible.text)


def list_of_others(visible: VisibleText, buttons: Sequence[int]) -> tuple[int, LexborNode] | None:
    """Where things begin that are written in the same way, each with a button of its own and other
    numbers, and the first of them. The page's product may be one of them, as that of one seller."""
    for one, other in pairwise(buttons[:_MOST_BUTTONS]):
        between = visible.text[one:other]
        if len(between) > _MOST_ITEM or not (second := _DIGITS.findall(between)):
            continue
        items = _branches(visible.elements_above(one), visible.elements_above(other))
        if items is None or _kind(items[0]) != _kind(items[1]):
            continue
        start = _start_in(visible, one, items[0])
        first = _DIGITS.findall(visible.text[start:one])
        if not set(first) <= set(second):  # those of one thing that is shown twice are the same
            return start, items[0]
    return None


def is_in_list(visible: VisibleText, at: int, item: LexborNode) -> bool:
    """Whether a text is inside a thing of the list that has this one."""
    inside = item.parent.mem_id if item.parent is not None else None
    return any(
        each.parent is not None and each.parent.mem_id == inside and _kind(each) == _kind(item)
        for each in visible.elements_above(at)
    )


def _start_in(visible: VisibleText, at: int, item: LexborNode) -> int:
    """Where the text of a thing begins that has a place in it."""
    start = visible.piece_at(at)[0]
    while start > 0 and at - start <= _MOST_ITEM:
        before = visible.piece_at(start - 1)[0]
        if all(each.mem_id != item.mem_id for each in visible.elements_above(before)):
            break
        start = before
    return start


def _branches(
    one: Sequence[LexborNode], other: Sequence[LexborNode]
) -> tuple[LexborNode, LexborNode] | None:
    """The two elements inside the nearest one that is around both."""
    parents = {each.parent.mem_id: each for each in other if each.parent is not None}
    for each in one:
        parent = each.parent
        if parent is not None and (found := parents.get(parent.mem_id)) is not None:
            return None if found.mem_id == each.mem_id else (each, found)
    return None


def _kind(element: LexborNode) -> tuple[str | None, str | None]:
    classes = (element.attributes.get("class") or "").split()
    return element.tag, classes[0] if classes else None


def _letters(text: str) -> int:
    return len(" ".join(text.split()))
