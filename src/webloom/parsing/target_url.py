"""The URL of a notification's target: a webhook, or a service of Apprise."""

from __future__ import annotations

import re

from webloom.domain.errors import UrlRefused
from webloom.parsing.web_url import normalise

_WEB = frozenset({"http", "https"})
_SCHEME = re.compile(r"[a-z0-9+.-]{1,30}")


def scheme_of(url: str) -> str:
    return url.partition("://")[0].strip().lower()


def is_webhook(url: str) -> bool:
    return scheme_of(url) in _WEB


def may_hold_secret(url: str) -> bool:
    """Addresses of services hold passwords and tokens. A webhook may have one as its path too, but
    most have none."""
    rest = url.partition("://")[2]
    return not is_webhook(url) or "@" in rest.partition("/")[0] or "?" in rest


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
