"""Which notification targets are accepted."""

from __future__ import annotations

import re

from webloom.adapters.notify.services import SCHEMES, native_scheme, service_of
from webloom.domain.errors import UrlRefused
from webloom.parsing.target_url import is_webhook, scheme_of, shown_target
from webloom.parsing.web_url import normalise

LONGEST_TARGET = 4096
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff]")


def check_target(url: str) -> None:
    """Raises ValueError, whose text holds no secret. Sends and resolves nothing."""
    scheme = scheme_of(url)
    if len(url) > LONGEST_TARGET:
        raise ValueError(f"a target is longer than {LONGEST_TARGET} characters")
    if "://" not in url or _UNPRINTABLE.search(url):
        raise ValueError(
            "a target is a URL without spaces, such as https://example.com/hook or"
            " mailto://user:password@example.com"
        )
    if is_webhook(url):
        _check_webhook(url)
    elif scheme not in SCHEMES:
        raise ValueError(
            f"{shown_target(url)} is refused: targets are webhooks (https://) and Apprise's network"
            " services"
        )
    elif service_of(url) is None:
        raise ValueError(
            f"{shown_target(url)} can't be read: a part of it is missing or wrong; see Apprise's"
            f" documentation of {scheme}://"
        )


def _check_webhook(url: str) -> None:
    try:
        normalise(url)
    except UrlRefused as refused:
        raise ValueError(f"a webhook: {refused}") from refused
    if native := native_scheme(url):
        raise ValueError(
            f"{shown_target(url)} expects its own message format: give the target as {native}://"
        )
