"""Where people are told: which targets there are, and how they are shown."""

from __future__ import annotations

import re

from webloom.adapters.notify.services import SCHEMES, native_scheme, scheme_of, service_of
from webloom.domain.errors import UrlRefused
from webloom.parsing.web_url import normalise

LONGEST_TARGET = 4096
_WEB = frozenset({"http", "https"})
_SCHEME = re.compile(r"[a-z0-9+.-]{1,30}")
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff]")


def is_webhook(url: str) -> bool:
    return scheme_of(url) in _WEB


def may_hold_secret(url: str) -> bool:
    """Addresses of services hold passwords and tokens. A webhook may have one as its path too, but
    most have none."""
    rest = url.partition("://")[2]
    return not is_webhook(url) or "@" in rest.partition("/")[0] or "?" in rest


def check_target(url: str) -> None:
    """Raises ValueError with a sentence that holds no secret. Nothing is sent or looked up."""
    scheme = scheme_of(url)
    if len(url) > LONGEST_TARGET:
        raise ValueError(f"a target is longer than {LONGEST_TARGET} characters")
    if "://" not in url or _UNPRINTABLE.search(url):
        raise ValueError(
            "a target is a URL without spaces, such as https://example.com/hook or"
            " mailto://user:password@example.com"
        )
    if scheme in _WEB:
        _check_webhook(url)
    elif scheme not in SCHEMES:
        raise ValueError(
            f"{shown_target(url)} is refused: targets are webhooks (https://) and those services of"
            " Apprise that are on the network"
        )
    elif service_of(url) is None:
        raise ValueError(
            f"{shown_target(url)} can't be read: something is missing in it or wrong; see"
            f" Apprise's documentation of {scheme}://"
        )


def _check_webhook(url: str) -> None:
    try:
        normalise(url)
    except UrlRefused as refused:
        raise ValueError(f"a webhook: {refused}") from refused
    if native := native_scheme(url):
        raise ValueError(
            f"{shown_target(url)} expects messages of its own form: give the target as {native}://"
        )


def shown_target(url: str) -> str:
    """The scheme, and the host of a webhook: the rest may be a password or a token. So may be what
    stands for the host in other targets."""
    scheme = scheme_of(url)
    if scheme in _WEB:
        try:
            host = normalise(url).split("/")[2]
        except UrlRefused:
            return f"{scheme}://…"
        return f"{scheme}://{host}/…"
    return f"{scheme}://…" if "://" in url and _SCHEME.fullmatch(scheme) else "…"
