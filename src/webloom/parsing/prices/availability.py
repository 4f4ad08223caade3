# ruff: noqa: RUF001  the letters of many languages look alike
"""Availability from the words that shops use, in structured data and on the page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from webloom.domain.price import Availability
from webloom.parsing.phrases import phrases
from webloom.parsing.words import by_word

_BY_WORD: Final = by_word(
    {
        Availability.IN_STOCK: "instock instoreonly limitedavailability onlineonly madetoorder "
        "available availablefororder availableforpurchase true",
        Availability.OUT_OF_STOCK: "outofstock oos soldout discontinued reserved unavailable "
        "notavailable false",
        Availability.PRE_ORDER: "preorder presale backorder pending availableforpreorder",
    }
)

# Words that count where an element has no others: 500 were sold, and a list has things to add.
_ALONE: Final = r"\s*[!.]?\s*\x{1f}"
_SOLD: Final = (
    "sold|verkauft|vendue?|vendido|venduto|verkocht|såld|solgt|myyty|продано|notify me|"
    "prodáno|predané|sprzedan[eya]|eladva|elkelt|vândut|продадено|πωλήθηκε|prodano|satıldı|"
    "売約済み?|已售出|판매완료"
)
_ADD: Final = (
    "add|ajouter|hinzufügen|toevoegen|agregar|adicionar|aggiungi|dodaj|lägg till|order|"
    "order online|shop now|get it now|réserver|reservar|prenota|buchen|bestel|kup|osta|αγορά|"
    "get offer|visit store|go to seller|enquire now|send message|enviar mensagem|enviar mensaje|"
    "envoyer un message|invia (?:un )?messaggio|bericht sturen|stuur bericht|wyślij wiadomość"
)

_OUT: Final = phrases(
    rf"(?:{_SOLD}){_ALONE}"
    r"""
    \b0[\s\x{a0}]+(?:left|in stock|available|pieces|stk|stück|auf lager|verfügbar|en stock|disponib)
    \b0[\s\x{a0}]+(?:op voorraad|på lager|i lager|skladem|в наличии|sztuk)
    \b(?:stock|lager|bestand|voorraad) ?[:=] ?(?:0|no|non|nein|nee|nej|nei)\s*\.?\s*(?:[\x{1f})]|$)
    (?:availab\pL+|verfügbar\pL*|dispon\pL+) ?[:=] ?(?:0|no|non|não|nein)\s*\.?\s*(?:[\x{1f})]|$)
    (?:skladem|наличи\pL) ?[:=] ?(?:0|ne|nie|нет)\s*\.?\s*(?:[\x{1f})]|$)
    hors stock | kein(?:e)? (?:bestand|lagerbestand) | geen voorraad | no hay stock
    pole (?:hetkel )?(?:saadaval|laos|olemas) | nav noliktavā
    няма наличност | (?:не|немає) доступ | nem kapható | nem elérhető
    stokta kalmadı | nije dostup | není k dispozici | ni na voljo | 在庫が(?:ない|ございません)
    没有库存 | 沒有庫存 | 无库存 | 無現貨 | 재고가 없 | 판매 ?중지 | غير متاح | không còn hàng
    tidak tersedia | ไม่มีสินค้า
    (?:not|no longer|never) (?:currently )?available
    out[ -]of[ -]stock | sold[ -]out | \bunavailable\b | not in stock | no stock\b
    (?:item|product|auction|listing|offer) (?:has|is) (?:been )?(?:sold|ended|expired|closed)
    (?:listing|posting|\bad) has been (?:deleted|removed|sold)
    \bdiscontinued\b | notify me when | back in stock (?:alert|notif)
    prévene[zr][ -]moi | être (?:prévenu|averti|alerté) | m.(?:alerter|avertir) | avísame cuando
    benachrichtige(?:n sie)? mich,? (?:sobald|wenn|falls|bei verfügbarkeit)
    avvisami quando | powiadom mnie | уведоми ме | (?:сообщить|уведомить) о (?:поступлении|наличии)
    повідомити про (?:наявність|надходження) | gelince haber ver | 到货通知 | 到貨通知 | 貨到通知
    再?入荷(?:の)?(?:お知らせ|通知) | 재입고 ?알림
    nicht (?:mehr )?(?:zur verfügung|bestellbar|im sortiment) | no longer for sale
    not sold online
    (?:be|come) back in stock | (?:item|lot) sold\b | victime de son succès | bientôt de retour
    fuera de existencias | no quedan unidades | publicación (?:pausada|finalizada)
    anúncio (?:pausado|encerrado|finalizado) | fora de (?:estoque|linha)
    fuori (?:catalogo|produzione)
    brak na stanie | nakład wyczerpany | oferta (?:została )?zakończona | \butgått\b
    ikke på nettlager | ei saatavilla | poistunut valikoimasta | ukončený prodej | prodej ukončen
    nu este disponibil | nem rendelhető | készlethiány | δεν υπάρχει (?:σε )?απόθεμα
    немає в продажу | знят[оаи]й? з (?:виробництва|продажу) | снято с публикации
    ожидается поступление | satışta değil | (?:nema|nije) na stanju | rasprodat | razprodan
    nedostupno | prekės nėra | izpārdots | 取り?扱い?終了 | 入荷未定 | 停售 | 판매가 종료
    (?:نفد|نفذ)ت? من المخزون | (?:לא|חסר) במלאי | ngừng kinh doanh | stok kosong
    habis terjual | terjual habis | anunț(?:ul)? (?:dezactivat|expirat)
    ausverkauft | nicht (?:mehr |auf )?(?:verfügbar|lieferbar|lager|erhältlich|vorrätig)
    vergriffen
    en rupture | rupture de stock | épuisé | indisponible | plus disponible | non disponible
    agotado | sin (?:stock|existencias) | no disponible | fuera de stock
    esaurito | non (?:è )?(?:più )?disponibile | terminato | \bin riordino
    esgotado | indispon[ií]vel | sem estoque | sem stock | não disponível | avise-me
    uitverkocht | niet (?:meer )?(?:op voorraad|leverbaar|beschikbaar) | niet voorradig
    brak (?:towaru|w magazynie) | niedostępn[yae] | wyprzedan[yae] | powiadom o dostępności
    slutsåld | slut i (?:web)?lager | ej i lager | inte i lager | tillfälligt slut
    udsolgt | ikke på lager | utsolgt | ikke tilgjengelig | midlertidig udsolgt
    loppuunmyyty | ei varastossa | loppu varastosta | tuote ei ole saatavilla
    vyprod[aá]no | vypredan[ée] | nen[ií] skladem | nie je (?:na sklade|skladom)
    nedostupn[ýáée]
    není dostupn | (?:nie je možné|nelze) (?:\pL+ )?(?:kúpiť|objednať|koupit|objednat)
    stoc epuizat | indisponibil | nu este (?:în|in) stoc | nema na zalihi
    ni (?:na voljo|dobavljiv)
    rasprodano | ni na zalogi | elfogyott | nincs raktáron | εξαντλ | μη διαθέσιμο
    няма в наличност
    tükendi | stokta (?:yok|bulunmuyor) | mevcut değil | temin edilemiyor
    нет в (?:наличии|продаже) | распродан | товар (?:закончился|отсутствует) | немає в наявності
    снят с (?:продажи|производства) | läbi müüdud | otsas | nav pieejams | išparduota
    在庫切れ | 品切れ | 売り切れ | 完売 | 入荷待ち | 販売を?終了 | お取り扱いできません
    缺货 | 缺貨 | 售罄 | 已售完 | 無庫存 | 无货 | 暂时缺货 | 補貨中 | 完售 | 銷售一空 | 已下架
    품절 | 일시품절 | 재고 ?없음 | 판매 ?종료
    loppunut | tilapäisesti loppu | 在庫(?:なし|無し|がありません) | изчерпан
    prekės? ne(?:turime|bėra) | laost otsas | esgotat | отсутствует | немає на складі | закінчився
    nie ma w magazynie | niet in voorraad | nicht im (?:lager|bestand)
    δεν είναι διαθέσιμο | غير متوفر | نفدت | نفذت الكمية | אינו במלאי | נגמר
    אזל מהמלאי | אזל | hết hàng | stok habis | สินค้าหมด
    """
)
_LATER: Final = phrases(
    r"""
    pre[ -]?order | back[ -]?order | coming soon | available (?:from|on) \d
    vorbestell | erscheint am | pré-?commande | précommander | à paraître
    pre-?compra | reserva (?:ya|ahora) | preordine | preordina | pre-?ordina | pré-venda
    pré-encomenda
    reserveren | pre-?orderen | przedsprzeda | förbeställ | forudbestil | forhåndsbestil
    forhåndskøb
    ennakkotilaa | předobjedn | predobjedn | ön sipariş | предзаказ
    予約(?:受付|する|商品|注文) | 预售 | 預購 | 预购
    예약 ?(?:구매|판매) | precomand[aă] | \bpreventa\b | ennakkotilatt | передзамов | طلب مسبق
    előrendel | προπαραγγελ | предварителна поръчка | prednarud | prednaroč | הזמנה מוקדמת
    đặt trước | pra-pesan | สั่งจอง | išankstin | eeltellimus | reserva ara
    """
)
_IN: Final = phrases(
    r"""
    \bin[ -]stock\b | \bavailable\b
    \d+ (?:left|pieces left)
    ships? (?:in|within|today) | or best offer | for sale by (?:owner|dealer)
    verhandlungsbasis | \bfestpreis\b | privates angebot | prix à débattre | prezzo trattabile
    precio negociable | preço negociável | prix à négocier | do negocjacji | торг уместен
    dispatched (?:in|within|today) | ready for dispatch | versandfertig | \blagernd\b | lagerware
    expédition sous | il ne reste (?:que|plus que) \d | disponibilidad inmediata | hay stock
    últimas unidades | envío inmediato | entrega imediata | restam \d | pronta consegna
    in magazzino
    spedito in \d | ultimi pezzi | solo \d+ rimast | morgen in huis | na magazynie
    ostatnie sztuki
    skickas inom | saatavilla | ihneď k odberu | posledn[ýí] kus | ultimele bucăți | stoc suficient
    άμεση παραλαβή | σε απόθεμα | наличен | готов(?:ий|о|а) до відправ | kargoya hazır | na stanju
    dostupno | saadaval | 残り\s?\d | 残りわずか | 即日発送 | あす楽 | 库存充足 | 仅剩 | 僅剩
    남은 ?수량
    متاح | في المخزون | ready stock | \bsisa \d | พร้อมส่ง
    ready to ship | low stock | only \d+ left | last (?:one|few|pieces)
    auf lager | \b(?:am|an|ab) lager\b | sofort (?:lieferbar|verfügbar)
    \blieferbar\b | vorrätig | \bverfügbar\b
    nur noch \d
    en stock | \bdisponible\b | livraison (?:sous|en) | expédié sous | plus que \d
    hay existencias | en existencia | con stock | quedan \d | \bdisponibile\b
    disponibilità immediata
    em estoque | em stock | \bdispon[ií]vel\b | pronta entrega | op voorraad | \bleverbaar\b
    voorradig
    dostępn[yae] | w magazynie | na stanie | wysyłka w | i (?:web)?lager | på lager
    finns i lager
    varastossa | heti saatavilla | \bskladem\b | \bskladom\b | na sklad[eě] | na zalogi
    dobavljiv | na voljo | na zalihi | raspoloživo
    în stoc | in stoc\b | raktáron | készleten | διαθέσιμο | в наличност | stokta | stoğumuzda
    есть в наличии | в наличии | на складе | в наявності | tersedia | มีสินค้า | en estoc
    olemas | laos \pL | sandėlyje | noliktavā
    在庫あり | 在庫：?○ | 即納 | 有货 | 有貨 | 現貨 | 现货 | 有库存 | 尚有庫存 | 재고 ?있음
    متوفر | במלאי | còn hàng
    """
)
BUY: Final = phrases(
    rf"(?:{_ADD}){_ALONE}"
    r"""
    add (?:\w+ )?to (?:\w+ )?(?:cart|bag|basket|trolley|order) | \bbuy\b
    \bpurchase\b | place (?:a )?bid | \bbid now | order now | get tickets? | book now
    in den (?:waren)?korb | (?:waren)?korb (?:legen|hinzufügen) | jetzt (?:kaufen|bestellen)
    in die einkaufst
    ajouter au panier | \bacheter\b | mettre au panier | commander | j'achète
    (?:a[ñn]adir|agregar|sumar|meter) (?:al?|a la) (?:\w+ )?(?:carr|cesta|bolsa|compra)
    \bcomprar\b | comprá | \bañadir\b
    aggiungi al (?:carrello|cestino) | \bacquista\b | metti nel carrello | \bcompra\b
    nel carrello
    adicionar (?:ao|à|no) (?:carrinho|cesto|sacola|bolsa) | eu quero | colocar no carrinho
    in (?:mijn |de )?winkel(?:wagen|mand) | in mandje | \bbestellen\b | toevoegen aan winkel
    \bkopen\b
    do koszyka | kup teraz | \bkupuj | zamów | köp(?: nu)?\b | lägg i (?:varu|kund) | i varukorg
    læg i kurv | køb nu | \bkøb\b | legg i (?:handle)?(?:kurv|vogn) | kjøp | lisää (?:osto)?kori
    osta nyt
    do ko[sš][ií]k[au] | \bkoupit | \bkúpiť | objednať
    sepete ekle | satın al | hemen al | в корзину | купить | до кошика | заказать | купити
    adaug[aă] (?:în|in) co[sș] | cumpără | kosárba | megveszem | v košarico | dodaj u koš
    u košaricu | \bkupi\b | naruči
    στο καλάθι | добави в количк | купи | lisa (?:osto)?korvi | ostukorvi | į krepšelį
    pievienot grozam
    カートに(?:入れる|追加) | 買い物かご | かごに入れる | 購入(?:する|手続き) | ご購入
    今すぐ買う
    加入购物车 | 加入購物車 | 放入購物車 | 立即购买 | 立即購買 | 立刻購買 | 直接購買 | 我要買
    購買 | 购买 | 馬上買 | 加到購物車 | 立即搶購 | 去買單
    장바구니 | 구매하기 | 바로구매 | [أا]ض(?:ف|يف) (?:إلى|الى) (?:ال)?(?:سل|حقيب|عرب) | اشتر
    הוסף ל(?:סל|עגלה) | הוספה לסל | לקנייה | קנה עכשיו
    \bkaufen\b | in den einkaufswagen | kaufe jetzt | put in (?:the )?basket
    ajouter à (?:mon|votre) panier | mettre dans (?:le|mon) panier | j'en profite | lo quiero
    (?:colocar|pôr) na sacola | aggiungi alla borsa | ordina (?:ora|subito)
    \b(?:bestel|koop|boek|boka|book) nu\b | jetzt buchen | réserver maintenant | prenota ora
    i indkøbskurv | osta (?:heti|kohe) | αγόρασ | в количката | şimdi al | u korpu | naroči
    pirkti? (?:dabar|tagad) | grozā | 今すぐ購入 | 马上抢 | 立即抢购 | 加入(?:购物袋|購物袋)
    立即(?:订购|訂購) | إضافة (?:إلى|الى) (?:ال)?(?:سل|عرب|حقيب) | לרכישה | הוסיפו ל(?:סל|עגלה)
    chọn mua | beli langsung | รถเข็น | написать продавцу | gebot abgeben | preisvorschlag senden
    go to (?:shop|store) | (?:view|see|get) (?:the )?deal
    (?:see|view|compare) (?:all )?(?:prices|offers) | (?:preise|angebote) (?:ansehen|vergleichen)
    voir (?:les|tous les) (?:prix|offres) | (?:ver|comparar) (?:todos los )?precios
    (?:сравнить|все) (?:все )?цены
    zum (?:shop|angebot|anbieter) | (?:voir|profiter de) l'offre | ver (?:la )?oferta
    ir (?:a la tienda|à loja) | vai (?:al negozio|all'offerta) | naar (?:de )?(?:winkel|webshop)
    bekijk (?:deal|aanbieding) | (?:przejdź|idź|jít) do (?:sklepu|obchodu)
    till butik(?:en)? | til butikk?(?:en)? | перейти в магазин | показать (?:телефон|номер)\pL*
    (?:show|reveal) (?:phone|number) | telefonnummer anzeigen | оформить заказ | придбати
    замовити | добавить в (?:корзин|заказ) | в кошик | добави в кошница | カートへ | 注文する
    til kurv | keranjang | ตะกร้า | a la cistella | [أا]ض(?:ف|يف) للسل | 주문하기
    megrendelem | αγόρασε | ostoskoriin | i handlekurv(?:en)? | i handlevogn
    contact (?:the )?(?:seller|advertiser|owner) | make (?:an )?offer | message seller
    chat with seller
    (?:anbieter|verkäufer) kontaktieren | nachricht (?:senden|schreiben)
    contacter (?:le )?vendeur
    contactar (?:al? )?(?:vendedor|anunciante) | contatta (?:il )?venditore
    contact met verkoper
    thêm vào giỏ | mua ngay | tambah(?:kan)? ke keranjang | beli sekarang | ใส่ตะกร้า | ซื้อ
    """
)


# Words that may stand between a negation and what it negates; other words end its reach.
_BETWEEN: Final = (
    r"(?:is|are|be|been|currently|yet|now|at|the|this|moment|more|any|mehr|derzeit|momentan|aktuell|"
    r"leider|zurzeit|zur|zeit|sofort|auf|im|mais|mai|est[aáã]|hay|è|al|momento|più|meer|op|dit|jest|"
    r"ole|enää|je|längre|lenger|længere|w|tej|chwili|е|сейчас|временно|έχει|είναι|yra)"
)
_NEGATED: Final = re.compile(
    r"(?:\b(?:not|isn.t|aren.t|no longer|never|nicht|keine?|no|não|non|niet|geen|nie|není|inte|"
    r"ikke|ei (?=ole|enää)|нет|не|немає|няма|nem|nincs|nije|δεν|nėra|không|tidak|"
    r"nu (?:mai )?(?:este|e))\s*(?<=\s)(?:" + _BETWEEN + r"\s+){0,3}"
    r"|(?:^\s*|\bn.(?:est|sont|y|en)\s+(?:[^\W\d]+\s+)?)(?:pas|plus)\s+(?:[^\W\d]+\s+)?|ไม่)$",
    re.I,
)
_MOST_BEFORE: Final = 50  # characters

_ALONE_WORDS: Final = re.compile(rf"(?:{_SOLD}|{_ADD})\W*\x1f", re.I)


def is_alone(found: str) -> bool:
    """Whether what was found counts only where its element has no other words."""
    return _ALONE_WORDS.fullmatch(found) is not None


def is_negated(before: str) -> bool:
    """Whether a text negates what follows it."""
    return _NEGATED.search(before[-_MOST_BEFORE:]) is not None


def structured_availability(value: Any) -> Availability:
    """By a schema.org URL or name, or the words of an OpenGraph tag."""
    if isinstance(value, list):
        value = next((one for one in value if one), None)
    if isinstance(value, dict):
        value = value.get("@id") or value.get("name")
    if isinstance(value, bool):
        return Availability.IN_STOCK if value else Availability.OUT_OF_STOCK
    if not isinstance(value, str):
        return Availability.UNKNOWN
    word = re.sub(r"[^a-z]", "", re.split(r"[/#:]", value.strip().rstrip("/"))[-1].lower())
    return _BY_WORD.get(word) or stated_availability(value[:200])


def first_availability(values: Iterable[Any]) -> Availability:
    """That of the first value that says something."""
    said = (structured_availability(value) for value in values)
    return next((one for one in said if one is not Availability.UNKNOWN), Availability.UNKNOWN)


def stated_availability(text: str) -> Availability:
    """What a short text beside the product says."""
    for pattern, said in STATEMENTS:
        if found := pattern.search(text):
            if said is Availability.IN_STOCK and is_negated(text[: found.start()]):
                return Availability.OUT_OF_STOCK
            return said
    return Availability.UNKNOWN


# Negations first, since "not in stock" has "in stock" in it.
STATEMENTS: Final = (
    (_OUT, Availability.OUT_OF_STOCK),
    (_LATER, Availability.PRE_ORDER),
    (_IN, Availability.IN_STOCK),
)
