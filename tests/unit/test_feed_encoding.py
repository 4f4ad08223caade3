# ruff: noqa: RUF001  the letters of many languages look alike
"""Encodings, declared rightly, wrongly or not at all."""

from __future__ import annotations

import pytest

from unit.feed_bodies import CLOSING, OPENING, ReadRecords, feed, item
from unit.feed_postings import ReadPostings
from webloom.parsing.feeds.guessing import guessed

TITLE = "Café “Ñandú” \u2013 5 €"


def body(codec: str, declared: str | None, title: str = TITLE) -> bytes:
    declaration = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    text = declaration + (OPENING + item(1) + item(2, title=b"@") + CLOSING).decode()
    return text.replace("@", title).encode(codec)


WRONG = {"wrong encoding": 1}


@pytest.mark.parametrize(
    ("codec", "declared", "content_type", "repairs"),
    [
        ("utf-8", "UTF-8", None, {}),
        ("utf-8", None, None, {}),
        ("utf-8-sig", None, None, {}),
        ("utf-8", "utf-8", "text/xml; charset=iso-8859-1", {}),
        ("utf-8", "iso-8859-1", None, WRONG),
        ("utf-8", "us-ascii", None, WRONG),
        ("utf-8", "windows-1251", None, WRONG),
        ("utf-8", "utf-16", None, WRONG),
        ("utf-8", "gb2312", None, WRONG),
        ("utf-8", "no-such-encoding", None, {}),
        ("cp1252", "windows-1252", None, {}),
        ("cp1252", "iso-8859-1", None, {}),
        ("cp1252", None, "text/xml; charset=ISO-8859-1", {}),
        ("cp1252", "utf-8", None, WRONG),
        ("cp1252", None, None, WRONG),
        ("utf-16", "utf-16", None, {}),
        ("utf-16-le", "utf-16", None, {}),
        ("utf-16-be", None, None, {}),
        ("utf-32", "utf-32", None, {}),
        ("utf-32-be", None, None, {}),
        ("gb18030", "gb18030", None, {}),
    ],
)
def test_text_is_read_whatever_is_declared(
    codec: str, declared: str | None, content_type: str | None, repairs: dict[str, int]
) -> None:
    read = ReadRecords(body(codec, declared), content_type=content_type)
    assert read.texts("title") == ["Title 1", TITLE]
    assert read.repairs == repairs
    assert read.is_whole


@pytest.mark.parametrize(
    ("codec", "title"),
    [
        ("cp1251", "Инженер"),
        ("koi8-r", "Инженер"),
        ("iso8859-2", "Łódź"),
        ("iso8859-15", "5 €"),
        ("shift_jis", "エンジニア"),
        ("euc_jp", "エンジニア"),
        ("iso2022_jp", "エンジニア"),
        ("big5", "工程師"),
        ("euc_kr", "엔지니어"),
    ],
)
def test_other_alphabets_are_read_by_their_declaration(codec: str, title: str) -> None:
    declared = codec.replace("_", "-").replace("iso", "iso-").replace("shift-", "shift_")
    read = ReadRecords(body(codec, declared, title))
    assert read.texts("title") == ["Title 1", title]
    assert read.repairs == {}


def test_a_declaration_needs_no_quotes() -> None:
    xml = "<?xml version=1.0 encoding=gb2312?><jobs><job><id>1</id><title>喆禾</title></job></jobs>"
    assert ReadPostings(xml.encode("gb18030")).only().title == "喆禾"


# Not declared, or declared as another encoding


@pytest.mark.parametrize("declared", [None, "utf-8"])
def test_russian_is_recognised_without_a_declaration(declared: str | None) -> None:
    title = "Водитель категории в «ООО» Ромашка"
    read = ReadRecords(body("windows-1251", declared, title))
    assert read.texts("title") == ["Title 1", title]
    assert read.repairs == WRONG


TEXTS = {
    "cp932": "経理スタッフ（正社員）を募集しています。未経験の方も大歓迎です",
    "euc_jp": "経理スタッフ（正社員）を募集しています。未経験の方も大歓迎です",
    "gb18030": "负责公司核心产品的设计与开发，要求熟悉数据库和网络编程",
    "big5": "負責公司核心產品的設計與開發，需熟悉資料庫與網路程式",
    "cp949": "서버 개발과 운영을 담당하실 분을 찾고 있습니다. 많은 지원 바랍니다",
    "koi8-r": "Менеджер по продажам: работа с клиентами, холодные звонки",
    "cp1251": "Менеджер по продажам: работа с клиентами, холодные звонки",
}


@pytest.mark.parametrize("codec", TEXTS)
@pytest.mark.parametrize("declaration", ["", '<?xml version="1.0" encoding="UTF-8"?>'])
def test_text_that_is_wrongly_called_utf_8_is_recognised_by_its_bytes(
    codec: str, declaration: str
) -> None:
    text = TEXTS[codec]
    xml = f"{declaration}<rss><channel><item><title>{text}</title></item></channel></rss>"
    read = ReadRecords(xml.encode(codec))
    assert read.texts("title") == [text]
    assert read.repairs == WRONG


def test_json_in_another_encoding_is_recognised_by_its_bytes() -> None:
    text = TEXTS["gb18030"]
    found = ReadPostings(f'[{{"id": 1, "title": "{text}"}}]'.encode("gb18030")).only()
    assert found.title == text


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        (
            "cp1252",
            "You’ll love it – don’t wait, it’s “great”, we’re hiring, they’ve said so • £30",
        ),
        ("cp1252", "Informações sobre a função: atenção às ações, corações, São João, três irmãos"),
        ("cp1252", "développé à Paris : été, déjà, créée, âgé, où, hôtel, sûr, naïf, forêt, gâté"),
        ("cp1254", "Çalışma arkadaşı arıyoruz, güçlü iletişim, öğrenci, müşteri ilişkileri, ığdır"),
        ("cp874", "รับสมัครพนักงานขาย ประจำสาขากรุงเทพ มีประสบการณ์อย่างน้อยหนึ่งปี เงินเดือนตามตกลง"),
        ("cp1256", "مطلوب مهندس برمجيات للعمل في شركة كبيرة في الرياض مع خبرة"),
        ("iso8859-2", "Poszukujemy księgowej, mile widziana znajomość języka, źródła, żółć, ćma"),
    ],
)
def test_an_encoding_is_guessed_only_where_it_is_certain(codec: str, text: str) -> None:
    assert guessed(f"<title>{text}</title>".encode(codec) * 20) is None


@pytest.mark.parametrize(
    ("codec", "language", "text"),
    [
        ("cp1250", "pl", "Księgowa w Łodzi – święta, źródła, żółć"),
        ("cp1250", "pl-PL", "Pracują, mają, są"),
        ("iso8859-2", "pl", "Księgowa w Łodzi, święta, źródła, żółć"),
        ("iso8859-2", "cs", "Řidič, žádná zkušenost není nutná"),
        ("cp1250", "cs", "Řidič, žádná zkušenost není nutná"),
        ("cp1253", "el", "Ζητείται υπάλληλος γραφείου με εμπειρία στην Αθήνα"),
        ("cp1254", "tr", "Çalışma arkadaşı, müşteri ilişkileri"),
        ("cp1255", "he", "דרוש מפתח תוכנה לחברה מובילה"),
    ],
)
def test_the_language_of_a_feed_decides_between_encodings(
    codec: str, language: str, text: str
) -> None:
    xml = (
        f"<rss><channel><language>{language}</language>"
        f"<item><title>{text}</title></item></channel></rss>"
    )
    assert ReadRecords(xml.encode(codec)).texts("title") == [text]
    assert ReadRecords(xml.encode()).texts("title") == [text]


# A few bytes in another encoding


@pytest.mark.parametrize(
    "text",
    [
        *dict.fromkeys(TEXTS.values()),
        "Café crème à Besançon, été, déjà, créé, hébergé, âgé, Noël, dîner",
    ],
)
def test_a_few_stray_bytes_in_utf_8_do_not_change_its_encoding(text: str) -> None:
    xml = f"<rss><channel><item><title>{text} @</title></item></channel></rss>"
    read = ReadRecords(xml.encode().replace(b"@", b"cr\xe8me"))
    assert read.texts("title") == [f"{text} crème"]


def test_a_russian_word_in_a_feed_that_is_utf_8_does_not_change_the_others() -> None:
    russian = item(2, title="Водитель грузовика сейчас".encode("cp1251"))
    spanish = "Ñandú y piñón, año " * 9 + "."
    read = ReadRecords(feed(item(1, title=spanish.encode()), russian, item(3, title=b"Caf\xe9")))
    assert [read.texts("title")[at] for at in (0, 2)] == [spanish, "Café"]


def test_letters_that_look_like_utf_8_do_not_mislead_a_feed_in_latin_1() -> None:
    titles = [f"Wünsche {number}" for number in range(5)] + ["NESCAFÉ®"]
    items = b"".join(item(1, title=title.encode("cp1252")) for title in titles)
    read = ReadRecords(b'<?xml version="1.0" encoding="iso-8859-1"?>' + OPENING + items + CLOSING)
    assert read.texts("title") == titles
    assert read.repairs == {}


def test_one_bad_byte_does_not_hide_utf_8_that_is_declared_as_latin_1() -> None:
    titles = ["Café", "Zürich", "Ω"]
    items = b"".join(item(1, title=title.encode()) for title in titles)
    broken = item(1, title="Café ".encode() + b"\xe9")
    read = ReadRecords(
        b'<?xml version="1.0" encoding="iso-8859-1"?>' + OPENING + items + broken + CLOSING
    )
    assert read.texts("title") == [*titles, "Café é"]


# Encoded twice


@pytest.mark.parametrize(
    "text", ["Café München \u2013 it\u2019s", "Inżynier, Łódź", "Инженер", "7♣"]
)
@pytest.mark.parametrize("codec", ["cp1252", "latin-1"])
def test_text_encoded_as_utf_8_twice_is_decoded_twice(text: str, codec: str) -> None:
    once = "".join(
        bytes([byte]).decode(codec if codec == "latin-1" or byte not in b"\x81\x8d\x8f\x90\x9d"
                             else "latin-1")
        for byte in text.encode()
    )  # fmt: skip
    read = ReadRecords(feed(item(1, title=once.encode())))
    assert read.texts("title") == [text]
    assert read.repairs == WRONG


@pytest.mark.parametrize("text", ["NESCAFÉ®", "SÃO PAULO", "«MAÇû", "Ã la carte, é", "Â", "CAFÉ™"])
def test_letters_that_only_look_encoded_twice_stay(text: str) -> None:
    read = ReadRecords(feed(item(1, title=text.encode())))
    assert read.texts("title") == [text]
    assert read.repairs == {}
