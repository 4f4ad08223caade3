"""Kinds of employment by one name each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from unicodedata import normalize

from webloom.parsing.words import by_word

_MOST: Final = 10
_LONGEST_NAME: Final = 4  # words
_WORD = re.compile(r"[^\W_]+")
_DIVIDED = re.compile(r"[,;|/\n]|\s+(?:and|und|or|oder|et|ou)\s+|\s*&\s*")

_WORDS: Final = {
    "full-time": "fulltime full ft fulltimejob vollzeit tempsplein pleintemps tiempocompleto "
    "jornadacompleta tempopieno tempointegral tempocompleto periodointegral voltijd fuldtid "
    "heltid fulltimeemployee "
    "fulltimeposition "
    "fulltimepermanent pelnyetat pełnyetat plnýúvazek tamzamanl\u0131 полнаязанятость "
    "полныйдень полная повназайнятість 全职 全職 正社員 정규직 fulltidsjob kokopaivatyo "
    "teljesmunkaido",
    "part-time": "parttime part pt teilzeit tempspartiel mitemps tiempoparcial mediajornada "
    "tempoparziale deeltijd deltid parttimejob parttimeemployee parttimeposition "
    "częśćetatu частичнаязанятость неполныйдень частичная частковазайнятість 兼职 兼職 パート "
    "アルバイト "
    "niepelnyetat pólúvazku meiotempo meioperiodo osaaikatyo",
    "contract": "contract contractor contractual fixedterm fixedtermcontract befristet "
    "contracttohire "
    "corptocorp corptocorpcontract c2c contractcorptocorp zeitvertrag tempodeterminado "
    "tempodeterminato atempodeterminato",
    "temporary": "temporary temp tempjob seasonal casual interim aushilfe zeitarbeit cdd "
    "temporaire "
    "temporal contratotemporal contratadureedeterminee temporario tijdelijk perdiem minijob "
    "arbeitnehmeruberlassung",
    "internship": "internship intern internships praktikum praktikant stage stagiaire becario "
    "practicas "
    "стажировка стажування 实习 實習 インターン tirocinio estagio staz praktik trainee "
    "traineeship werkstudent workingstudent",
    "freelance": "freelance freelancer selfemployed freiberuflich freierMitarbeiter independent "
    "autonomo indépendant independant",
    "permanent": "permanent regular unbefristet festanstellung cdi indefinido permanentemployee "
    "vast "
    "tempoindeterminato atempoindeterminato contratadureeindeterminee contratoindefinido "
    "perm direkthire directhire permanentcontract",
    "volunteer": "volunteer volunteering ehrenamt benevole voluntario unpaid",
}


def _folded(text: str) -> str:
    """Small letters without accents, and digits; nothing else."""
    return "".join(filter(str.isalnum, normalize("NFKD", text.casefold())))


_CANONICAL: Final = {_folded(word): name for word, name in by_word(_WORDS).items()}


def job_type(values: Iterable[str]) -> str:
    """An unknown kind stays as it is."""
    kept: list[str] = []
    for value in values:
        whole = _canonical(value)
        for part in [whole] if whole else _DIVIDED.split(value):
            for name in [whole] if whole else _several(part) or [part.strip()]:
                if name and name not in kept:
                    kept.append(name)
    return ", ".join(kept[:_MOST])


def _several(text: str) -> list[str]:
    """The kinds that a text names one after the other, if it says nothing else."""
    words = _WORD.findall(text)
    names: list[str] = []
    while words and len(names) < _MOST:
        for length in range(min(len(words), _LONGEST_NAME), 0, -1):
            if name := _canonical(" ".join(words[:length])):
                names.append(name)
                del words[:length]
                break
        else:
            return []
    return names


def _canonical(text: str) -> str | None:
    squeezed = _folded(text)
    for ending in ("", "position", "job", "employment", "work", "role", "basis"):
        name = _CANONICAL.get(squeezed.removesuffix(ending))
        if name:
            return name
    return None
