"""Which of several products a page is about."""

from __future__ import annotations

import html
import re
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from webloom.parsing.html_tree.elements import Elements
from webloom.parsing.html_tree.structured import Structured

_WORD: Final = re.compile(r"\w+")
_MOST_TITLE: Final = 500
_SHORTEST_ID: Final = 4  # characters; a shorter one is found in any address


class PageIdentity(NamedTuple):
    paths: frozenset[str]  # of its address, canonical and og:url
    address: str  # as it was asked for, lower case
    titles: list[frozenset[str]]  # words of og:title and title
    headlines: list[frozenset[str]]  # words of the first headlines

    def is_at(self, url: str | None) -> bool:
        return bool(url) and path_of(url or "") in self.paths

    def name_share(self, name: str | None) -> float:
        """How well a name fits the headline or the title: from 0 to 1. Half of it is how much of
        the name is there, half how much of both is the same."""
        words = words_of(name or "")
        if not words:
            return 0.0
        known = [*self.headlines, *self.titles]
        return max((_likeness(words, one) for one in known), default=0.0)

    def title_share(self, headline: str) -> float:
        """How much of a headline is in the title or og:title."""
        words = words_of(headline)
        if not words:
            return 0.0
        return max((len(words & one) / len(words) for one in self.titles), default=0.0)

    def is_title(self, text: str) -> bool:
        """Whether a text is the title, apart from a few words such as the name of the shop."""
        words = words_of(text)
        return len(words) >= 2 and any(
            len(words & one) >= max(0.85 * len(words), 0.5 * len(one)) for one in self.titles
        )

    def shortest_title(self) -> int:
        """Characters that a text has at least for which `is_title` can hold: those of the shortest
        half of a title's words."""
        halves = ([len(word) for word in one] for one in self.titles)
        return min((sum(sorted(one)[: -(-len(one) // 2)]) for one in halves), default=0)

    def telling_words(self) -> list[str]:
        """The longer half of each title's words: a text for which `is_title` holds has one of them
        at least."""
        longest_first = (sorted(one, key=len, reverse=True) for one in self.titles)
        return [word for one in longest_first for word in one[: len(one) // 2 + 1]]

    def names_id(self, identifier: str) -> bool:
        identifier = identifier.lower().strip()
        return len(identifier) >= _SHORTEST_ID and identifier in self.address


def identity_of(elements: Elements, structured: Structured, url: str) -> PageIdentity:
    addresses = [
        url,
        _canonical(elements),
        structured.open_graph.get("og:url"),
    ]
    paths = {path_of(one) for one in addresses if one}
    titles = elements.of("title")
    return PageIdentity(
        paths=frozenset(paths - {""}),
        address=unquote(url[:4000]).lower(),
        titles=_words_of_all(
            [structured.open_graph.get("og:title"), titles[0].text() if titles else ""]
        ),
        headlines=_words_of_all([node.text() for node in elements.of("h1")[:3]]),
    )


def _canonical(elements: Elements) -> str | None:
    for link in elements.of("link"):
        attributes = link.attributes
        if (attributes.get("rel") or "").lower() == "canonical":
            return attributes.get("href")
    return None


def _likeness(name: frozenset[str], title: frozenset[str]) -> float:
    common = len(name & title)
    return common / len(name) / 2 + common / (len(name) + len(title))


def _words_of_all(texts: list[str | None]) -> list[frozenset[str]]:
    return [words for text in texts if (words := words_of((text or "")[:_MOST_TITLE]))]


def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall((html.unescape(text) if "&" in text else text).lower()))


def path_of(url: str) -> str:
    """The path, without the slash at its end; empty for the front page and for no address."""
    try:
        return unquote(urlsplit(url.strip()[:4000]).path).rstrip("/").lower()
    except ValueError:
        return ""
