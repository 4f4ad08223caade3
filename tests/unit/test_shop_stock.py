# ruff: noqa: RUF001  the letters of many languages look alike
"""Availability on pages: in many languages, by buttons, and with other things said beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from webloom.domain.price import Availability
from webloom.parsing.pages.structured import read_structured
from webloom.parsing.prices.availability import structured_availability
from webloom.parsing.prices.finder import find_offer

IN, OUT = Availability.IN_STOCK, Availability.OUT_OF_STOCK
LATER, UNKNOWN = Availability.PRE_ORDER, Availability.UNKNOWN


def availability_of(body: str, *nodes: Any) -> Availability:
    script = f'<script type="application/ld+json">{json.dumps(list(nodes))}</script>'
    tree = LexborHTMLParser(
        f"<title>Oak stool Juno</title>{script}<h1>Oak stool Juno</h1>"
        f'<p class="price">€ 12,50</p>{body}'
    )
    structured = read_structured(tree)
    return find_offer(tree, structured, url="https://s.example/p/1", language=None).availability


SAID = [
    ("en", "In stock, ships tomorrow", "Temporarily out of stock", "Available for pre-order"),
    ("de", "Sofort lieferbar", "Derzeit nicht lieferbar", "Vorbestellbar ab Mai"),
    ("fr", "Disponible en stock", "Actuellement indisponible", "En précommande"),
    ("es", "En stock", "Producto agotado", "Preventa"),
    ("pt", "Produto disponível", "Produto esgotado", "Pré-venda"),
    ("it", "Disponibilità immediata", "Prodotto esaurito", "In preordine"),
    ("nl", "Direct leverbaar", "Tijdelijk uitverkocht", "Pre-order"),
    ("pl", "Produkt dostępny", "Produkt chwilowo niedostępny", "Przedsprzedaż"),
    ("cs", "Skladem 5 ks", "Momentálně nedostupné", "Předobjednávka"),
    ("sk", "Na sklade", "Vypredané", "Predobjednávka"),
    ("sv", "Finns i lager", "Tillfälligt slut i lager", "Förbeställ"),
    ("da", "På lager", "Ikke på lager", "Forudbestil"),
    ("nb", "På lager", "Ikke på lager", "Forhåndsbestill"),
    ("fi", "Heti varastossa", "Tilapäisesti loppu", "Ennakkotilattavissa"),
    ("ru", "Есть в наличии", "Нет в наличии", "Предзаказ"),
    ("uk", "В наявності", "Немає в наявності", "Передзамовлення"),
    ("tr", "Stokta var", "Tükendi", "Ön sipariş"),
    ("ja", "在庫あり", "在庫なし", "予約受付中"),
    ("zh", "有现货", "暂时缺货", "预售"),
    ("ko", "재고 있음", "일시품절", "예약판매"),
    ("ar", "متوفر في المخزون", "غير متوفر", "طلب مسبق"),
    ("hu", "Raktáron", "Nincs raktáron", "Előrendelés"),
    ("ro", "În stoc", "Stoc epuizat", "Precomandă"),
    ("el", "Άμεσα διαθέσιμο", "Εξαντλήθηκε", "Προπαραγγελία"),
    ("bg", "В наличност", "Изчерпан", "Предварителна поръчка"),
    ("hr", "Na zalihi", "Rasprodano", "Prednarudžba"),
    ("sl", "Na zalogi", "Ni na zalogi", "Prednaročilo"),
    ("he", "במלאי", "אזל מהמלאי", "הזמנה מוקדמת"),
    ("vi", "Còn hàng", "Hết hàng", "Đặt trước"),
    ("id", "Stok tersedia", "Stok habis", "Pra-pesan"),
    ("th", "มีสินค้า", "สินค้าหมด", "สั่งจองล่วงหน้า"),
    ("lt", "Yra sandėlyje", "Prekės neturime", "Išankstinis užsakymas"),
    ("et", "Laos olemas", "Läbi müüdud", "Eeltellimus"),
    ("ca", "En estoc", "Esgotat", "Reserva ara"),
]


@pytest.mark.parametrize(("language", "here", "gone", "later"), SAID, ids=[r[0] for r in SAID])
def test_what_people_are_told_in_their_language(
    language: str, here: str, gone: str, later: str
) -> None:
    said = [availability_of(f'<p class="stock">{one}</p>') for one in (here, gone, later)]
    assert said == [IN, OUT, LATER], language


REFUSED = [
    "This item is not currently available", "No longer in stock", "Zurzeit nicht sofort lieferbar",
    "Dieser Artikel ist nicht am Lager", "Ce produit n'est pas disponible", "Plus en stock",
    "Hors stock", "Este producto no está disponible", "No hay existencias", "No hay stock",
    "Não está disponível", "Non è al momento disponibile", "Momenteel niet op voorraad",
    "Geen voorraad", "Produkt nie jest dostępny", "Nie ma w magazynie", "Zboží není na skladě",
    "Tovar nie je skladom", "Finns inte i lager", "Er ikke lenger på lager", "Ei ole varastossa",
    "Нет на складе", "Товара нет в наличии", "Товару немає на складі", "Stokta kalmadı",
    "Jelenleg nincs készleten", "Nem kapható", "Nu mai este în stoc", "Не е в наличност",
    "Nije na zalihi", "Ni na voljo", "Δεν είναι διαθέσιμο", "Toode pole hetkel saadaval",
    "在庫がございません", "没有库存", "재고가 없습니다", "غير متاح حاليا", "Không còn hàng",
    "Tidak tersedia", "ไม่มีสินค้า",
]  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused_is_not_taken_for_what_is_there(words: str) -> None:
    assert availability_of(f'<p class="stock">{words}</p>') is OUT


@pytest.mark.parametrize(
    "words",
    [
        "Plus que 3 en stock",
        "Im Lager in Köln auf Lager",
        "В магазине на складе",
        "Nur noch 2 auf Lager",
        "Galaxy S24 Plus in stock",
        "Sat Nav in stock",
        "Tent pole in stock",
        "Non stick pan available",
        "Deko Ei auf Lager",
        "No minimum order and in stock",
        "Nicht nur schön sondern lieferbar",
    ],
)
def test_what_is_there_is_not_taken_for_refused(words: str) -> None:
    assert availability_of(f'<p class="stock">{words}</p>') is IN


BUTTONS = [
    "Add to cart", "Add to bag", "Add to Trolley", "Buy it now", "In den Warenkorb", "Jetzt kaufen",
    "Ajouter au panier", "Acheter", "Añadir a la cesta", "Agregar al carrito", "Comprar ahora",
    "Comprar", "Adicionar à sacola", "Aggiungi al carrello", "Acquista ora", "In winkelwagen",
    "Toevoegen aan winkelmand", "Do koszyka", "Dodaj do koszyka", "Kup teraz", "Do košíku",
    "Vložit do košíku", "Vložiť do košíka", "Köp", "Lägg i varukorgen", "Læg i kurv",
        "Tilføj til kurv",
    "Legg i handlekurv", "Kjøp", "Lisää ostoskoriin", "В корзину", "Купить", "Добавить в корзину",
    "До кошика", "Купити", "Sepete Ekle", "Hemen Al", "カートに入れる", "買い物かごに入れる",
        "加入购物车",
    "加入購物車", "立即购买", "장바구니 담기", "바로구매", "أضف إلى السلة", "أضف للسلة", "Kosárba",
    "Adaugă în coș", "Προσθήκη στο καλάθι", "Dodaj u košaricu", "V košarico", "Добави в количката",
    "Купи сега", "הוסף לסל", "Thêm vào giỏ hàng", "Mua ngay", "Masukkan keranjang",
    "เพิ่มลงตะกร้า", "Į krepšelį", "Lisa korvi", "Pievienot grozam", "Afegir a la cistella",
]  # fmt: skip


@pytest.mark.parametrize("words", BUTTONS)
def test_a_button_to_buy_with_in_many_languages(words: str) -> None:
    assert availability_of(f"<button>{words}</button>") is IN
    assert availability_of(f"<button disabled>{words}</button>") is OUT


ADD = "<button>Add to cart</button>"
SHOWN = [
    ("a button off until a size is chosen", """<select name="size"><option>Choose a size</option>
        <option>S</option></select><button disabled>Add to cart</button>""", IN),
    ("words over two elements", '<p class="stock"><b>Nicht</b> <i>verfügbar</i></p>', OUT),
    ("words over two lines", '<p class="stock">Out\n   of\n   stock</p>', OUT),
    ("the newsletter of those who wait", f"""{ADD}<form class="newsletter"><p>Sold out before?
        Notify
        me when it is back</p></form>""", IN),
    ("another colour is gone", f"""<ul class="swatches"><li class="swatch">Red (sold out)</li><li
        class="swatch">Blue</li></ul>{ADD}""", IN),
    ("gone, with buttons of others", """<p class="stock">Sold out</p><h2>You may also like</h2>
        <div><b>Bench</b><button>Add to cart</button></div>""", OUT),
    ("gone, to be told of", """<button disabled>Sold out</button><button>Notify me when available
        </button>""", OUT),
    ("gone, only a link to be told", '<p>This product is sold out.</p><a href="/n">Notify me</a>',
        OUT),
    ("gone, with a wish list", """<p class="stock">Épuisé</p><button>Ajouter à ma liste
        d'envies</button>""", OUT),
    ("pre-order by its button", '<button class="btn">Pre-order now</button>', LATER),
    ("back-order", f'<p class="stock">Available on backorder</p>{ADD}', LATER),
    ("few left", f'<p class="stock">Only 2 left</p>{ADD}', IN),
    ("no longer sold", "<p>This item is no longer available.</p>", OUT),
    ("discontinued", '<p class="availability">Discontinued</p>', OUT),
    ("not in a branch", f"<p>Not available in your store</p>{ADD}", IN),
    ("a hidden message", f'<p class="stock hidden" hidden>Out of stock</p>{ADD}', IN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "availability"), [row[1:] for row in SHOWN], ids=[row[0] for row in SHOWN]
)
def test_what_stands_beside_the_product(body: str, availability: Availability) -> None:
    assert availability_of(body) is availability


TOLD = [
    ("http://schema.org/instock", IN),
    ("in_stock", IN),
    ("IN_STOCK", IN),
    ("In-Stock", IN),
    ("https://schema.org/InStock/", IN),
    ("https://schema.org/LimitedAvailability", IN),
    ("https://schema.org/InStoreOnly", IN),
    ("https://schema.org/OnlineOnly", IN),
    ("available for order", IN),
    ("https://schema.org/out_of_stock", OUT),
    ("oos", OUT),
    ("Out Of Stock", OUT),
    ("https://schema.org/SoldOut", OUT),
    ("https://schema.org/Discontinued", OUT),
    ("discontinued", OUT),
    ("https://schema.org/BackOrder", LATER),
    ("https://schema.org/PreSale", LATER),
    ("preorder", LATER),
    ("available_for_preorder", LATER),
    ("false", OUT),
    ("true", IN),
    ("https://schema.org/", UNKNOWN),
]


@pytest.mark.parametrize(("value", "availability"), TOLD)
def test_odd_spellings_of_what_machines_are_told(value: str, availability: Availability) -> None:
    assert structured_availability(value) is availability


def offered(**fields: Any) -> dict[str, Any]:
    offer = {"@type": "Offer", "price": "12.50", "priceCurrency": "EUR", **fields}
    return {"@type": "Product", "name": "Oak stool Juno", "offers": offer}


def test_machines_and_people_together() -> None:
    gone = offered(availability="https://schema.org/OutOfStock")
    here = offered(availability="https://schema.org/InStock")
    assert availability_of("", offered(inventoryLevel={"value": 3})) is IN
    assert availability_of("", offered(inventoryLevel="0")) is OUT
    assert availability_of('<p class="stock">Sold out</p>', here) is OUT
    assert availability_of("<button disabled>Sold out</button>", here) is OUT
    assert availability_of(ADD, here) is IN
    assert availability_of("<p>Sold out in Paris</p>" + ADD, here) is IN
    assert availability_of('<p class="stock">Out of stock</p>', gone) is OUT
