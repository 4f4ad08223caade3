"""An address as a person types or pastes it -> the URLs that it may mean, the likeliest first."""

from __future__ import annotations

import re
from typing import Final

from webloom.domain.errors import UrlRefused
from webloom.parsing.web_url import MAX_URL_BYTES

_INVISIBLE: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]")
_PAIRS: Final = {"<": ">", '"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "«": "»", "(": ")"}
_MAX_PAIRS: Final = 5  # around each other
_LABEL: Final = re.compile(
    r"(?:url|feed):(?=\S)(?!\d)", re.IGNORECASE
)  # <URL:https://…>, feed:https://…
_HAS_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# mailto:a@example.com, javascript:…; but localhost:8080 and example.com:8080/ are hosts.
_OTHER_SCHEME: Final = re.compile(r"[a-z][a-z0-9+-]*:(?!\d)", re.IGNORECASE)


def urls_meant(address: str) -> list[str]:
    """Not normalised yet. Without a scheme: https, then http. Raises UrlRefused."""
    if len(address) > 2 * MAX_URL_BYTES:
        raise UrlRefused(f"the address is longer than {MAX_URL_BYTES} bytes")
    text = _unwrapped(_INVISIBLE.sub("", address))
    if not text:
        raise UrlRefused("the address is empty")
    if "\n" in text or "\r" in text:
        raise UrlRefused("there is more than one line; give one address at a time")
    if _HAS_SCHEME.match(text) or _OTHER_SCHEME.match(text):
        return [text]
    text = text.removeprefix("//")
    return [f"https://{text}", f"http://{text}"]


def url_meant(address: str) -> str:
    """The likeliest, for what is not fetched at once. Raises UrlRefused."""
    return urls_meant(address)[0]


def _unwrapped(text: str) -> str:
    text = text.strip()
    for _ in range(_MAX_PAIRS):
        if len(text) < 2 or _PAIRS.get(text[0]) != text[-1]:
            break
        text = text[1:-1].strip()
    if label := _LABEL.match(text):
        text = text[label.end() :].strip()
    return text
