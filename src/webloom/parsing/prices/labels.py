# ruff: noqa: RUF001  the letters of many languages look alike
"""Labels of amounts: the words before one say whether it is the price, the old price or another."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from webloom.parsing.phrases import phrases

_LABEL: Final = phrases(
    r"""
    price | preis | prix | precio | prezzo | preço | cena | prijs | hinta | fiyat | цена | ціна
    кошт
    價 | 价 | 価格 | 가격 | מחיר | السعر | hind | kaina | τιμή | \bár\b | harga | giá | ราคา
    할인판매가 | 할인가 | 세일가 | 특가
    \bnow | jetzt | aktuell | \bnur\b | \bonly | \bsale | offer | angebot
    """
)
# The price at which an auction began, or the lowest of some time.
_SELDOM_PAID: Final = phrases(
    r"""
    (?:starting|opening|reserve) price | startpreis | prix de départ | mise à prix
    precio (?:de salida|inicial|más bajo) | preço (?:inicial|mais baixo) | prezzo (?:più basso|base)
    cena wywoławcza | стартовая цена | lowest (?:\pL+ )?price | tiefster preis | prix le plus bas
    laagste prijs | alin hinta | legalacsonyabb ár | най-ниска цена | χαμηλότερη τιμή
    """
)
_REDUCED_LABEL: Final = phrases(
    r"""
    \bwas\b | \buvp\b | \brrp\b | \bmsrp\b | m\.?r\.?p\b | statt | \blist | instead | regular
    original | before
    au lieu | prix (?:conseill|public|barr) | antes | \bpvpr?\b
    precio (?:anterior|normal|lista)
    listino | anziché | invece | zamiast | původn | pôvodn | běžn | bežn | tidigare
    ord\.
    ordinarie | normalpris | \bfør | vejl | adviesprijs | стар
    alter preis | ursprünglich | bisher | vorher | ancien | habituel | prima\b | originale
    cena regularna | przed obniżką | nypris | ord pris | norm\. | ovh\b
    eski fiyat | piyasa | eredeti ár | preț vechi | prp\b | αρχική | π\.λ\.τ
    \breg\. | comp\. value | comparable value | compare at | prezzo pieno | prezzo consigliato
    prix (?:d.origine|de référence|initial|normal) | \bavant ?: | \bförr\b | \bveil\.
    precio (?:original|regular|sugerido|recomendado) | aiemmin | \bdmoc\b | מחיר (?:קודם|רגיל)
    preço (?:original|normal|anterior) | førpris | doporučená | cena katalogowa | раньше | раніше
    преди | (?:^|\s)كان | (?:^|\s)قبل | harga (?:asli|normal)
    giá (?:gốc|niêm yết|thị trường) | ราคา(?:ปกติ|เดิม)
    希望小売 | 通常価 | 元値 | 吊牌价 | 划线价 | 정상가 | 소비자가
    retail:?\s*$ | retail price | previous | typical | old price | full price | valued? at
    streichpreis
    preisempf | normalpreis | regulärer preis | precio habitual | preço de tabela
    prezzo (?:precedente|intero) | \bnormaal | oude prijs | oorspronkelijk | catalogusprijs
    poprzednia | stara (?:cena|cijena) | \brek\.? ?pris | veiledende | normaalihinta | aiempi
    suositushinta | predtým | preț (?:inițial|recomandat) | régi ár | παλιά τιμή | пцд
    (?:редовна|звичайна) | без скидки | было | redovna | sena kaina | įprasta | vecā cena
    tavahind | vana hind | 定价 | السعر (?:السابق|الأصلي) | מחיר מקורי | במקום | מחירון | giá cũ
    harga sebelum | ราคาเต็ม
    \bnormal ?:
    建議售價 | 原價 | 原价 | 定價 | 定価 | 市價 | 市场价 | 通常価格 | 参考価格 | 정가 | redna
    """
)
_OTHER_LABEL: Final = phrases(
    r"""
    sav(?:e|ing) | \bspar(?:en|e|st|t|ar)?\b | ersparnis | économ | econom | ahorr | risparm
    discount
    rabatt | sconto | descuento | desconto | zľava | sleva | rabat | \boff\b
    shipping | deliver | versand | liefer(?:[ugkpsw]|en) | livraison | env[ií]o | entrega
    spedizion | frete | portes | doprav
    достав | 運費 | 运费 | 送料 | 배송 | postage | dostaw | verzend | frakt | fragt | toimitus
    kargo | poštnin | dostav
    month | monat | mois | \bmes\b | mensu | mensais | \brate\b | raten | installment
    instalment | cuota | parcela
    kredit | credit | кредит | рассроч | в месяц | 分期 | splátk | leasing | financ | \bemi\b
    coupon | voucher | \bgift | points | punkt | bonus | (?:cash|money)[ -]?back\b | \bback\b | späť
    \bover\b | above | orders | mindest | superior | minimum | más de | deposit | kaution
    warrant | garant | insur
    member | mitglied | abonn | \babo\b | \bclub\b | subscri | autoship | auto-?delivery | suscri
    assinatura | abbonamento | prenumer | lowest (?:price )?(?:in|of|within|since)
    niedrigst | najniższ | nejnižší
    thirty (?:days|tage|jours|giorni|gg|días|dias|dagen|dagar|dage|dager|päivä|dní|dni|zile|nap|ημ)
    medlem | adhérent | \bsóci[oa]s?\b | \bsocios?\b | fid[ée]lité | fidelidad | clubcard | jäsen
    preço cartão | prix carte | precio (?:con )?tarjeta | prezzo carta | \bcard price | kundenkarte
    по карте | картой | 会員 | 會員 | 会员 | 회원
    delbetal | avbetal | taksit | δόσε | trả góp | ผ่อน | cicilan | 할부 | \braty\b | \brat x
    osamaksu | třetin | payments of | plazos | \bfois\b | \bdelen\b | termijn | részletre | aylık
    دفعات | قسط | תשלומים | (?:^|\s)월\s*$ | 月々 | 每期
    protection plan | click (?:&|and) collect | \bfrais de | \bgastos | szállít | livrare | ongkir
    phí vận chuyển | μεταφορικ | الشحن | توصيل | משלוח
    bespaar | oszczędzasz | ušet[rř] | säästät | megtakarít | hemat:?\s*(?:rp)?\s*$ | выгод
    tiết kiệm:?\s*$ | kazancınız | κερδίζετε | (?:^|\s)وفر | חסכת | эконом | економі | 現省
    \bearn\b | бонус | 적립 | \bpfand | \bdont\b | \bjmf | jämförpris
    veroton | 税抜 | 税別
    ^\s?(?:for|für|pour|voor|för|por)\s[^\pL]*$
    brez ddv | ohne (?:mwst|ust) | exkl | \bexcl | \bex\.? (?:vat|tax|gst|btw) | \bexc\.? vat
    before tax | without tax | no tax | sans taxe | senza iva | zonder btw | uden moms | áfa nélkül
    nettó | \bnetto?\b | sem iva | sin iva | hors tax
    \bht\b
    bez dph | без ндс | ekskl | iva esclusa | fără tva | χωρίς φπα | без ддс | kdv hariç | bez pdv
    ללא מע | iva no incluido
    trade[ -]in | (?:with|mit) code | con código | con cupón | com cupom | \bspend\b
    wholesale | оптом | гуртом | \bmayoreo | por mayor | atacado | all.ingrosso | hurtow | despacho
    bestellwert | finanz | \bmtl\b | anzahlung | éco-part | poupa | \brata\b | al mese | per maand
    månad | pr\. md | \bspar(?:a|er)\b | säästä | měsíčně | mesačne | részlet | спестяв
    на месец | в місяць
    (?:скидка|знижка):?\s*$ | ušted | havale | 分割 | クーポン | 每月 | 定金 | 优惠券 | 優惠券
    무이자 | 쿠폰 | توفير | חיסכון | ค่าส่ง | ประหยัด | bank offer | exchange offer | grundpreis
    """
)
_NOW_LABEL: Final = phrases(
    r"""
    \bnow\b | sale price | special price | current price | our price | jetzt | aktuell | \bnur\b
    maintenant | prix actuel | ahora | precio actual | agora | \bpor:?\s*$ | adesso | \bora\b
    \bnu\b | teraz | nyní | сейчас | şimdi
    """
)


ON_REQUEST: Final = phrases(
    r"""
    price (?:up)?on request | call for price | (?:ask|contact us) for (?:a )?(?:price|quote)
    preis auf anfrage | prix sur demande | precio a consultar | consultar precio
    preço sob consulta
    prezzo su richiesta | prijs op aanvraag | cena na (?:zapytanie|dotaz|vyžiadanie)
    pris på (?:förfrågan|forespørsel|forespørgsel) | цен[аы] по запросу | ціна за запитом
    fiyat sorunuz | ár kérésre | preț la cerere | 価格はお問い合わせ | 價格面議 | 价格面议
    """
)
# Of "De R$ 100 por R$ 80", but also of three payments "de R$ 30".
_REDUCED_IF_NOTHING_ELSE: Final = re.compile(r"(?<!partir )\b(?:de|van)\b:?\s*(?:R\$|€)?\s*$", re.I)


class Label(NamedTuple):
    """What the words before a number say about it."""

    price: bool
    reduced_from: bool
    other: bool
    seldom: bool  # a price, but seldom what one pays now


@lru_cache(maxsize=4096)  # a shop has few words that it puts before prices
def read_label(label: str) -> Label:
    """Of "Shipping. Was:" and "Was: Now:" the last counts."""
    reduced, other = _last(_REDUCED_LABEL, label), _last(_OTHER_LABEL, label)
    if reduced < 0 and other < 0 and (last := _REDUCED_IF_NOTHING_ELSE.search(label)):
        reduced = last.start()
    is_price = bool(_LABEL.search(label))
    is_seldom = is_price and bool(_SELDOM_PAID.search(label))
    return Label(
        price=is_price and not is_seldom,
        reduced_from=reduced > _last(_NOW_LABEL, label) if reduced >= 0 else False,
        other=other >= reduced if other >= 0 else False,
        seldom=is_seldom,
    )


def _last(pattern: Any, label: str) -> int:
    """Where the last match begins; -1 for none."""
    return max((found.start() for found in pattern.finditer(label)), default=-1)
