# ruff: noqa: RUF001  the letters of many languages look alike
"""Where the product of a page ends: the headings of lists of other products."""

from __future__ import annotations

from typing import Final

from webloom.parsing.prices.phrases import phrases
from webloom.parsing.prices.visible_text import FAR, VisibleText

_MOST_HEADING: Final = 60  # characters
_MOST_FOUND: Final = 20
_MOST_AROUND: Final = 10  # characters of a heading beside the words
_MOST_OF_HEADLINE: Final = 25
_HEADLINES: Final = ("h2.", "h3.", "h4.")

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
    """
)


def end_of_product(visible: VisibleText) -> int:
    """Where the first heading of other products stands behind the headline, or the text's end."""
    if not visible.is_titled:
        return len(visible.text)
    start = visible.headline_end
    window = visible.text[start : start + FAR]
    for count, found in enumerate(_OTHERS.finditer(window)):
        if count == _MOST_FOUND:
            break
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


def _letters(text: str) -> int:
    return len(" ".join(text.split()))
