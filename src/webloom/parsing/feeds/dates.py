"""Dates as feeds write them, in UTC.

A date without a zone is UTC. One that can't be, or lies outside of 1950 to 2200, is not a date.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from unicodedata import combining, normalize
from zoneinfo import ZoneInfo, available_timezones

from webloom.parsing.words import by_word

_YEARS: Final = range(1950, 2201)
_LONGEST: Final = 80  # characters that a date can have

_MONTHS_OF_LANGUAGES: Final = """
january february march april may june july august september october november december
januar februar marz april mai juni juli august september oktober november dezember
janner feber maerz april mai juni juli august september oktober november dezember
janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november december
"""
_MORE_MONTHS: Final = """
stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia
ledna unora brezna dubna kvetna cervna cervence srpna zari rijna listopadu prosince
tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesakuuta heinakuuta elokuuta syyskuuta \
lokakuuta marraskuuta joulukuuta
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
januar februar marcius aprilis majus junius julius augusztus szeptember oktober november december
ocak subat mart nisan mayis haziran temmuz agustos eylul ekim kasim aralik
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
stycz lut mar kwi maj cze lip sie wrz paz lis gru
янв фев мар апр маи июн июл авг сен окт ноя дек
январь февраль март апрель маи июнь июль август сентябрь октябрь ноябрь декабрь
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
januara februara marca aprila maja juna jula augusta septembra oktobra novembra decembra
januari februari maret april mei juni juli agustus september oktober november desember
ιανουαριου φεβρουαριου μαρτιου απριλιου μαιου ιουνιου ιουλιου αυγουστου σεπτεμβριου \
οκτωβριου νοεμβριου δεκεμβριου
січ лют бер кві тра чер лип сер вер жов лис гру
януари февруари март април маи юни юли август септември октомври ноември декември
led uno bre dub kve cvn cvc srp zar rij lis pro
oca sub mar nis may haz tem agu eyl eki kas ara
jan feb mrz apr mai jun jul aug sep okt nov dez
ene feb mrt abr mei jun jul ago sept oct nov dic
"""  # noqa: RUF001 - Greek is meant

_ZONES: Final = by_word(  # minutes east of Greenwich
    {
        -600: "hst hast",
        -540: "akst",
        -480: "pst akdt",
        -420: "mst pdt",
        -360: "cst mdt",
        -300: "est cdt",
        -240: "edt ast clt",
        -210: "nst",
        -180: "adt brt art clst",
        -150: "ndt",
        0: "z ut utc gmt wet uct",
        60: "bst west cet mez met",
        120: "cest mesz mest eet sast cat",
        180: "eest msk trt eat",
        240: "gst",
        300: "pkt",
        330: "ist",
        345: "npt",
        420: "ict wib",
        480: "sgt hkt awst pht myt",
        540: "jst kst",
        570: "acst",
        600: "aest",
        630: "acdt",
        660: "aedt",
        720: "nzst",
        780: "nzdt",
    }
)

_PLACES_OF_ZONES: Final = {  # whose abbreviation says nothing of the season
    "et": "america/new_york",
    "ct": "america/chicago",
    "mt": "america/denver",
    "pt": "america/los_angeles",
}

_USUAL = re.compile(
    r"(?:[A-Za-z]{3}, ?)?(\d\d? [A-Za-z]{3} \d{4}) (\d\d):(\d\d):(\d\d) "
    r"(?:GMT|UTC|Z|([+-])(\d\d):?([0-5]\d))$"
)
_TIME = re.compile(
    r"(?<![\d+-])(\d{1,2})(?::|h(?=\d)|(?=\s*[ap]\.?m\b))(\d{2})?(?:[:.](\d{2})(?:[.,]\d+)?)?"
    r"(?:\s*([ap])\.?m\b\.?)?"
)
_DOTTED_TIME = re.compile(
    r"((?:(?<=[\s.,/-])\d{4}|-\d\d)[t\s]\s*)(2[0-4]|[01]?\d)\.([0-5]\d)(?!\d|\.\d{4})"
)
_OFFSET = re.compile(r"^[\s,]*(?:[a-z]{1,5})?\s*([+\-\u2212])(\d{1,2}):?(\d{2})?\b")
_PLACE = re.compile(
    r"\betc/gmt[+-]\d\d?(?![\d:])|\b[a-z]{2,10}/[a-z_]{3,}(?:[/-][a-z_]+)*"
    r"|(?:(?<=[\dm] )|(?<=m\. ))[ecmp]t\b"
)
_ASIDE = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_NUMERIC = re.compile(r"(?<!\d)(\d{1,4})\s*([-/.])\s*(\d{1,2})\s*\2\s*(\d{4}|\d{1,2})(?!\d)")
_YEAR_MONTH = re.compile(r"^(\d{4})(?:[-/](\d{1,2}))?$")
_ORDINAL_DAY = re.compile(r"^(\d{4})-?(\d{3})(?=$|[t\s])")
_ERA = re.compile(r"(令和|平成)\s*(元|\d{1,2})(?=年)")
_YEAR_BEFORE_ERA: Final = {"令和": 2018, "平成": 1988}
_EAST_ASIAN = str.maketrans("年月日년월일時时點点分秒", "-- -- ::::: ")
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+")
_OF_JSON = re.compile(r"/Date\((-?\d{1,16})(?:[+-]\d{4})?\)/$")  # as .NET writes it
_ISO = re.compile(r"^\d{4}-?(?:\d\d|W)")
_DAY_AND_ZONE = re.compile(r"(\d{4}-\d\d-\d\d)(Z|[+-]\d\d:\d\d)$")  # of XML Schema
_ZONE_BEGINS: Final = ("+", "-", "Z")
_SLASHED = re.compile(rb"""[>"\[]\s*+(\d\d?)\\?/(\d\d?)\\?/(?:20)?\d\d(?=[\s<"\]])""")


def _month_names() -> dict[str, int]:
    """Full names, and what they are shortened to where only one month is."""
    names: dict[str, int] = {}
    shared: set[str] = set()
    for line in _MONTHS_OF_LANGUAGES.split("\n"):
        for month, name in enumerate(line.split(), 1):
            for length in range(3, len(name) + 1):
                if names.setdefault(name[:length], month) != month:
                    shared.add(name[:length])
    for name in shared:
        del names[name]
    for line in _MORE_MONTHS.split("\n"):
        for month, name in enumerate(line.split(), 1):
            names.setdefault(name, month)
    return names


_MONTHS: Final = _month_names()


def parse_date(text: str, *, month_first: bool = False) -> datetime | None:
    """`month_first`: 03/04/2024 is the fourth of March."""
    if len(text) > _LONGEST:
        return None
    try:
        found = _parse(text, month_first)
    except (ValueError, OverflowError):
        return None
    return found if found is not None and found.year in _YEARS else None


def is_month_first(feed: bytes) -> bool | None:
    """What the dates with slashes say that begin a value in this part of a feed: 10/25/2024 has
    the month first. None: nothing, or not all the same."""
    found = {
        int(second) > 12
        for first, second in _SLASHED.findall(feed)
        if (int(first) > 12) != (int(second) > 12)
    }
    return found.pop() if len(found) == 1 else None


def _parse(text: str, month_first: bool) -> datetime | None:
    usual = _USUAL.match(text)
    if usual is not None:
        day, hour, minute, second, sign, hours, minutes = usual.groups()
        midnight = _usual_day(day)
        if midnight is not None and hour < "24" and second < "60":
            moment = midnight.replace(hour=int(hour), minute=int(minute), second=int(second))
            if sign is None or (hours == "00" and minutes == "00"):
                return moment
            return moment - _offset(sign, hours, minutes)
    elif _ISO.match(text) and not text.isdigit():
        try:
            if text[10:11] in _ZONE_BEGINS and (day := _DAY_AND_ZONE.match(text)) is not None:
                text = f"{day[1]}T00:00{day[2]}"
            moment = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return _in_utc(moment)
    text = text.strip()
    if not any(map(str.isdigit, text)):
        return None
    if (milliseconds := _OF_JSON.match(text)) is not None:
        return datetime.fromtimestamp(int(milliseconds[1]) / 1e3, UTC)
    if text.lstrip("-").replace(".", "", 1).isdecimal() and text.isascii():
        return _of_digits(text)
    text = _ERA.sub(_year_of_era, text).translate(_EAST_ASIAN)
    return _of_words(_folded(text), month_first)


def _year_of_era(found: re.Match[str]) -> str:
    year = 1 if found[2] == "元" else int(found[2])
    return str(_YEAR_BEFORE_ERA[found[1]] + year)


@lru_cache(maxsize=1_000)
def _usual_day(text: str) -> datetime | None:
    day, name, year = text.split()
    month = _MONTHS.get(name.lower())
    return None if month is None else datetime(int(year), month, int(day), tzinfo=UTC)


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _folded(text: str) -> str:
    """Lower case and without accents, so that names compare."""
    decomposed = normalize("NFKD", text.casefold()).replace("\u0131", "i")
    return "".join(mark for mark in decomposed if not combining(mark))


def _of_digits(text: str) -> datetime | None:
    """A compact date, or what has passed since 1970 in seconds or a fraction of them."""
    whole = text.partition(".")[0]
    match len(whole):
        case 4:
            return datetime(int(whole), 1, 1, tzinfo=UTC) if "." not in text else None
        case 7 if "." not in text:
            return _of_words(text, False)
        case 8 if "." not in text:
            return datetime(int(text[:4]), int(text[4:6]), int(text[6:]), tzinfo=UTC)
        case 12 | 14 if whole.startswith(("19", "20")) and int(whole[4:6]) in range(1, 13):
            return datetime.strptime(whole.ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        case 9 | 10:
            return datetime.fromtimestamp(float(text), UTC)
        case 12 | 13:
            return datetime.fromtimestamp(int(whole) / 1e3, UTC)
        case 16:
            return datetime.fromtimestamp(int(whole) // 1_000_000, UTC)
    return None


def _of_words(text: str, month_first: bool) -> datetime | None:
    place, text = _place(text)
    text = _ASIDE.sub(" ", text)
    text = _DOTTED_TIME.sub(r"\1\2:\3", text)
    time = (0, 0, 0)
    offset: timedelta | None = None
    found = _TIME.search(text)
    if found is not None:
        hour, minute, second, half = found.groups()
        time = (_hour(int(hour), half), int(minute or 0), min(int(second or 0), 59))
        behind = text[found.end() :]
        offset, behind = _zone(behind)
        text = f"{text[: found.start()].rstrip(' t')} {behind}"
        if time[1] > 59 or int(second or 0) > 60:
            return None
    day = _day(text.strip(" ,.;"), month_first)
    if day is None or time[0] > 24 or (time[0] == 24 and time[1:] != (0, 0)):
        return None
    moment = day + timedelta(hours=time[0], minutes=time[1], seconds=time[2])
    if place is not None and offset is None and found is not None:
        return moment.replace(tzinfo=place).astimezone(UTC)
    return moment - (offset or timedelta(0))


def _place(text: str) -> tuple[ZoneInfo | None, str]:
    """A zone by the name of a place in it, and what is left without it."""
    for found in _PLACE.finditer(text):
        name = _names_of_places().get(_PLACES_OF_ZONES.get(found[0], found[0]))
        if name is not None:
            return ZoneInfo(name), f"{text[: found.start()]} {text[found.end() :]}"
    return None, text


@lru_cache(maxsize=1)
def _names_of_places() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


def _hour(hour: int, half: str | None) -> int:
    if half == "p" and hour < 12:
        return hour + 12
    return 0 if half == "a" and hour == 12 else hour


def _zone(text: str) -> tuple[timedelta | None, str]:
    """The zone that follows a time, and what follows the zone."""
    found = _OFFSET.match(text)
    if found is not None:
        return _offset(*found.groups()), text[found.end() :]
    for word in _WORD.findall(text):
        if word in _ZONES:
            return timedelta(minutes=_ZONES[word]), text.replace(word, " ", 1)
    return None, text


def _offset(sign: str, hours: str, minutes: str | None) -> timedelta:
    """An offset that no zone has is taken for none."""
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if offset >= timedelta(hours=15):
        return timedelta(0)
    return offset if sign == "+" else -offset


def _day(text: str, month_first: bool) -> datetime | None:
    if (found := _NUMERIC.search(text)) is not None:
        first, _, second, last = found.groups()
        if len(first) == 4:
            return _date(int(first), int(second), int(last))
        if len(first) == 3:
            return None
        day, month = (int(second), int(first)) if month_first else (int(first), int(second))
        if month > 12:
            day, month = month, day
        return _date(_full_year(last), month, day)
    if (found := _ORDINAL_DAY.match(text)) is not None and 1 <= int(found[2]) <= 366:
        return _ordinal(int(found[1]), int(found[2]))
    if (found := _YEAR_MONTH.match(text)) is not None:
        return _date(int(found[1]), int(found[2] or 1), 1)
    return _named_day(text)


def _named_day(text: str) -> datetime | None:
    """12 March 2024, March 12th, 2024, Tue Mar 12 2024, 2024 March 12, mar. 12 mars 2024."""
    months = [
        (word.start(), _MONTHS[word[0]]) for word in _WORD.finditer(text) if word[0] in _MONTHS
    ]
    numbers = [(number.start(), number[0]) for number in _NUMBER.finditer(text)]
    if not months or not 1 <= len(numbers) <= 2:
        return None
    # A weekday can look like a month: mar. is mardi, martes and March. The month is by the day.
    at, month = months[-1]
    if len(numbers) == 1:
        year = numbers[0][1]
        return _date(int(year), month, 1) if len(year) == 4 and numbers[0][0] > at else None
    (_, first), (_, second) = numbers
    if len(first) == 4:
        return _date(int(first), month, int(second))
    return _date(_full_year(second), month, int(first))


def _full_year(digits: str) -> int:
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year < 69 else 1900)


def _date(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def _ordinal(year: int, day: int) -> datetime | None:
    moment = _date(year, 1, 1) + timedelta(days=day - 1)
    return moment if moment.year == year else None
