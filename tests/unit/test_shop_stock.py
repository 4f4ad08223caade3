# ruff: noqa: RUF001  the letters of many languages look alike
"""Availability on pages: statements in many languages, buttons, and what else stands there."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from unit.shop_page import ADD, H1, IN, LATER, OUT, UNKNOWN, found, offer_of
from webloom.domain.price import Availability

PRODUCT: Final = f'{H1}<p class="price">€ 12,50</p>'
UNMARKED: Final = f"{H1}<p>€ 149,00</p>"  # the price


def availability_of(body: str, *, head: str = "") -> Availability:
    return offer_of(body, head=head).availability


def stock(words: str) -> str:
    return f'{PRODUCT}<p class="stock">{words}</p>'


STATED: Final = [
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


@pytest.mark.parametrize(("language", "here", "gone", "later"), STATED, ids=[r[0] for r in STATED])
def test_statements_in_many_languages(language: str, here: str, gone: str, later: str) -> None:
    stated = [availability_of(stock(one)) for one in (here, gone, later)]
    assert stated == [IN, OUT, LATER], language


REFUSED: Final = [
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
def test_a_statement_with_a_negation_is_out_of_stock(words: str) -> None:
    assert availability_of(stock(words)) is OUT


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
def test_words_that_only_look_like_a_negation(words: str) -> None:
    assert availability_of(stock(words)) is IN


BUTTONS: Final = [
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
def test_buy_buttons_in_many_languages(words: str) -> None:
    assert availability_of(f"{PRODUCT}<button>{words}</button>") is IN
    assert availability_of(f"{PRODUCT}<button disabled>{words}</button>") is OUT


IN_STOCK_LD: Final = """<script type="application/ld+json">{"@type": "Product",
    "name": "Oak stool Juno", "offers": {"price": 12.5, "availability": "InStock"}}</script>"""
RDFA: Final = '<link property="availability" href="http://schema.org/{}">'

SHOWN: Final = [
    # Buttons
    ("an input", PRODUCT + '<input type="submit" value="In den Warenkorb">', IN),
    ("a picture", PRODUCT + '<a id="cart" href="#"><img alt="Ajouter au panier"></a>', IN),
    ("a link to this page", UNMARKED + '<a href="#">Add to cart</a>', IN),
    ("a link to the cart, in Arabic", UNMARKED + '<a href="/cart/">اضف الى حقيبة التسوق</a>', IN),
    ("a form in no known language", PRODUCT + '<form action="/cart/add"><button>!</button></form>',
        IN),
    ("one word", UNMARKED + "<button>Add</button>", IN),
    ("one word with another before it", UNMARKED + "<button>Quick add</button>", UNKNOWN),
    ("one word, and a message", UNMARKED + "<p>Currently out of stock</p><button>Add</button>",
        OUT),
    ("a hyphen", UNMARKED + "<button>Sofort-Kaufen</button>", IN),
    ("the imperative plural in Hebrew", UNMARKED + "<button>הוסיפו לסל</button>", IN),
    ("in a footer of the buy box",
        UNMARKED + '<div class="prod-buy-footer"><button>바로구매</button></div>', IN),
    ("in the footer of the site",
        UNMARKED + '<div class="site-footer"><button>Buy now</button></div>', UNKNOWN),
    ("a neighbour's", PRODUCT + f'<div class="recommended">{ADD}</div>', UNKNOWN),
    ("hidden", UNMARKED + f'<div style="display: none">{ADD}</div>', IN),
    ("hidden, and a message", UNMARKED + f'<p>Sold out</p><div style="display: none">{ADD}</div>',
        OUT),
    ("disabled, and says so", PRODUCT + '<button class="buy" disabled>Sold out</button>', OUT),
    ("disabled until a size is chosen", PRODUCT + """<select name="size"><option>Choose a
        size</option><option>S</option></select><button disabled>Add to cart</button>""", IN),
    ("disabled, asks for a size", UNMARKED + """<ul><li>41 <i>Notify me</i></li></ul><button
        disabled>Select a size</button>""", IN),
    ("a pre-order", PRODUCT + '<button class="btn">Pre-order now</button>', LATER),
    ("to compare prices", UNMARKED + '<a href="#prices">See prices</a>', IN),
    ("to write to the seller", UNMARKED + "<button>Enviar mensagem</button>", IN),
    ("to write to the shop, though it is sold out",
        UNMARKED + "<p>Esgotado</p><button>Enviar mensagem</button>", OUT),
    # Messages
    ("a message", PRODUCT + '<p class="stock out-of-stock">Out of stock</p>', OUT),
    ("a message before a disabled button",
        PRODUCT + '<p class="stock">Ausverkauft</p><button disabled>Kaufen</button>', OUT),
    ("a message without a class", PRODUCT + "<p>Currently unavailable.</p>", OUT),
    ("a hidden message", PRODUCT + '<p class="stock" style="display: none">Sold out</p>', UNKNOWN),
    ("a hidden message and a button",
        PRODUCT + f'<p class="stock hidden" hidden>Out of stock</p>{ADD}', IN),
    ("a neighbour's message",
        PRODUCT + '<div class="related-products"><p class="stock">Sold out</p></div>', UNKNOWN),
    ("words over two elements", stock("<b>Nicht</b> <i>verfügbar</i>"), OUT),
    ("words over two lines", stock("Out\n   of\n   stock"), OUT),
    ("no longer sold", PRODUCT + "<p>This item is no longer available.</p>", OUT),
    ("not available, in German",
        UNMARKED + "<p>Dieser Artikel steht derzeit nicht zur Verfügung!</p>", OUT),
    ("not available, in Finnish", UNMARKED + "<p>Ei saatavilla</p>", OUT),
    ("available, in Finnish", UNMARKED + "<p>Saatavilla</p>", IN),
    ("not in stock, in Serbian", UNMARKED + "<p>Nema na stanju</p>", OUT),
    ("in stock, in Serbian", UNMARKED + "<p>Na stanju</p>", IN),
    ("not in stock, in Hebrew", UNMARKED + "<p>לא במלאי</p>", OUT),
    ("sold, in German", UNMARKED + "<p>Verkauft</p>", OUT),
    ("sold, in Czech", UNMARKED + "<p>Prodáno</p>", OUT),
    ("sold by a shop", UNMARKED + "<p>Verkauft durch Holzhaus</p>", UNKNOWN),
    ("how many were sold", UNMARKED + "<p>500 sold</p>", UNKNOWN),
    ("discontinued", PRODUCT + '<p class="availability">Discontinued</p>', OUT),
    ("negotiable, in German", UNMARKED + "<p>Verhandlungsbasis</p>", IN),
    ("negotiable, in Portuguese", UNMARKED + "<p>Preço negociável</p>", IN),
    ("not negotiable, in Portuguese", UNMARKED + "<p>Preço não negociável</p>", UNKNOWN),
    ("a long sentence about this listing", "<p>This listing was ended by the seller on Sunday at "
        f"7:41 PM because the thing is no longer available.</p>{UNMARKED}", OUT),
    ("a long sentence about things in general", UNMARKED + "<p>We will give your money back within "
        "a few days if a thing is out of stock.</p>", UNKNOWN),
    ("before the headline, where nothing is said after it", f"<p>Sold out</p>{UNMARKED}", OUT),
    ("about cookies, before the headline",
        f"<p>Available in the settings</p>{UNMARKED}<p>Sold out</p>", OUT),
    ("about cookies, after the headline",
        UNMARKED + '<div id="consent-layer"><p>Available in the settings</p></div>', UNKNOWN),
    # Messages with a button
    ("a size is gone", PRODUCT + f'<li class="size stock">XL out of stock</li>{ADD}', IN),
    ("a colour is gone", PRODUCT + f"""<ul class="swatches"><li class="swatch">Red (sold out)</li>
        <li class="swatch">Blue</li></ul>{ADD}""", IN),
    ("not in a branch", PRODUCT + f"<p>Not available in your store</p>{ADD}", IN),
    ("may be out of stock soon, in Chinese",
        UNMARKED + "<a>加入購物車</a><p>為了避免缺貨，請先詢問是否有現貨</p>", IN),
    ("few left", stock("Only 2 left") + ADD, IN),
    ("pre-order, with the button of any product",
        PRODUCT + f'<p class="availability">Pre-order, out in May</p>{ADD}', LATER),
    ("back-order", stock("Available on backorder") + ADD, LATER),
    ("gone, with buttons of others", stock("Sold out") + f"""<h2>You may also like</h2>
        <div><b>Bench</b>{ADD}</div>""", OUT),
    ("gone, with the button of others after a Spanish heading", UNMARKED + """<p>Agotado</p>
        <h2>Productos similares a este artículo</h2><button>Comprar</button>""", OUT),
    ("gone, with a wish list", stock("Épuisé") + """<button>Ajouter à ma liste
        d'envies</button>""", OUT),
    # A notification when it is back
    ("notify me, a button", UNMARKED + "<button>Notify me</button>", OUT),
    ("notify me, a button in Russian", UNMARKED + "<button>Сообщить о поступлении</button>", OUT),
    ("notify me, in Bulgarian", UNMARKED + "<p>Уведоми ме</p>", OUT),
    ("notify me as soon as it can be delivered",
        UNMARKED + "<p>Benachrichtigen Sie mich, sobald er lieferbar ist.</p>", OUT),
    ("notify me of prices", UNMARKED + "<p>Notify me of price drops</p>", UNKNOWN),
    ("notify me, beside a disabled button", PRODUCT + """<button disabled>Sold out</button>
        <button>Notify me when available</button>""", OUT),
    ("notify me, a link", PRODUCT + '<p>This product is sold out.</p><a href="/n">Notify me</a>',
        OUT),
    ("notify me, in a newsletter", PRODUCT + f"""{ADD}<form class="newsletter"><p>Sold out before?
        Notify me when it is back</p></form>""", IN),
    # How many there are
    ("zero", stock("0 in stock"), OUT),
    ("zero, in German", stock("Noch 0 verfügbar"), OUT),
    ("zero after a colon", stock("Stock: 0"), OUT),
    ("no", stock("In stock: <b>No</b>"), OUT),
    ("no, in German", stock("Auf Lager: Nein"), OUT),
    ("no, in Spanish", stock("Disponible: No"), OUT),
    ("no, in Russian", stock("Наличие: нет"), OUT),
    ("ten", stock("10 in stock"), IN),
    ("a thousand", stock("1,000 in stock"), IN),
    ("a number that begins with zero", stock("In stock: 05"), IN),
    ("no minimum", stock("In stock: no minimum order"), IN),
    ("zero to three days", stock("Disponibile: 0-3 giorni"), IN),
    ("zero reviews",
        PRODUCT + "<span>Reviews</span> <span>0</span><p class=stock>In stock</p>", IN),
    ("no restock", stock("In stock") + "<p>Restock: No</p>", IN),
    ("a number of the stock", stock("In stock") + "<p>Stock: No. 1234</p>", IN),
    # Markup
    ("RDFa", UNMARKED + RDFA.format("InStock"), IN),
    ("RDFa of several products", UNMARKED + RDFA.format("InStock") + RDFA.format("OutOfStock"),
        UNKNOWN),
    ("JSON-LD", IN_STOCK_LD + PRODUCT, IN),
    ("JSON-LD, and a size is gone", IN_STOCK_LD + stock("Sold out in XL") + ADD, IN),
    ("JSON-LD, and a message",
        IN_STOCK_LD + PRODUCT + '<p class="availability">Sold out</p>', OUT),
    ("nothing", PRODUCT, UNKNOWN),
    ("an article", f"{H1}<p>The stool is available. Or sold out.</p>", UNKNOWN),
    ("a wall", "<h1>Access denied</h1><p>This page is not available.</p>", UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "availability"), [row[1:] for row in SHOWN], ids=[row[0] for row in SHOWN]
)
def test_what_the_page_shows(body: str, availability: Availability) -> None:
    assert availability_of(body) is availability


WITHOUT_PRICE: Final = [
    ("an element named availability", '<div id="availability">Currently unavailable.</div>', OUT),
    ("an element named out of stock", '<div class="out-of-stock">Out of stock</div>', OUT),
    ("in the place of the button",
        '<div class="buy-block"><div class="buy-block__title">Niet leverbaar</div></div>', OUT),
    ("a video", '<div class="unavailable">This video is not available</div>', UNKNOWN),
    ("quotes", '<div class="stock">Quotes are not available</div>', UNKNOWN),
    ("an element of any kind", "<p>Currently unavailable.</p>", UNKNOWN),
    ("a button that may be for news",
        '<p>Words of an article.</p><button class="btn">Notify me</button>', UNKNOWN),
    ("a shop that does not answer",
        '<p>The service is temporarily unavailable.</p><a class="btn">Try again</a>', UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "availability"),
    [row[1:] for row in WITHOUT_PRICE],
    ids=[row[0] for row in WITHOUT_PRICE],
)
def test_a_product_may_be_out_of_stock_without_a_price(
    body: str, availability: Availability
) -> None:
    assert found(offer_of(H1 + body)) == (None, availability)


def offered(**fields: Any) -> str:
    offer = {"@type": "Offer", "price": "12.50", "priceCurrency": "EUR", **fields}
    node = {"@type": "Product", "name": "Oak stool Juno", "offers": offer}
    return f'<script type="application/ld+json">{json.dumps(node)}</script>'


GONE: Final = offered(availability="https://schema.org/OutOfStock")
HERE: Final = offered(availability="https://schema.org/InStock")


@pytest.mark.parametrize(
    ("head", "body", "availability"),
    [
        (offered(inventoryLevel={"value": 3}), "", IN),
        (offered(inventoryLevel="0"), "", OUT),
        (HERE, '<p class="stock">Sold out</p>', OUT),
        (HERE, "<button disabled>Sold out</button>", OUT),
        (HERE, ADD, IN),
        (HERE, f"<p>Sold out in Paris</p>{ADD}", IN),
        (GONE, '<p class="stock">Out of stock</p>', OUT),
    ],
)
def test_structured_data_is_checked_against_what_the_page_shows(
    head: str, body: str, availability: Availability
) -> None:
    assert availability_of(PRODUCT + body, head=head) is availability
