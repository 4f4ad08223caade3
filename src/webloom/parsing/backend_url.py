"""Addresses of databases and brokers: what may be shown of them, and to whom they belong."""

from __future__ import annotations

SQLITE = "sqlite:///"
STORE_SCHEMES = (SQLITE, "mongodb://", "mongodb+srv://")
STORE_FORMS = "sqlite:///path/of/a/file or mongodb://user:password@host/"
BROKER_SCHEMES = (SQLITE, "amqp://", "amqps://", "redis://", "rediss://")
BROKER_FORMS = "amqp://user:password@host/, redis://host/0 or sqlite:///path/of/a/file"
HIDDEN = "***"


def shown(url: str) -> str:
    """Without user, password and options: each can be a secret.

    A password that was not encoded as it should be can hold anything; where it is not clear what
    is what, nothing is shown.
    """
    if url.startswith(SQLITE):
        return url
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        return HIDDEN if "@" in url else _without_options(url)
    credentials, _, address = rest.rpartition("@")
    if any(mark in credentials for mark in "/?#"):
        return f"{scheme}://{HIDDEN}"
    return f"{scheme}://{_without_options(address)}"


def has_password(url: str) -> bool:
    """True also for a user name alone, and where credentials can't be ruled out."""
    return not url.startswith(SQLITE) and "@" in url


def _without_options(address: str) -> str:
    return address.partition("?")[0].partition("#")[0]


def checked(url: str, schemes: tuple[str, ...]) -> str:
    """Raises ValueError."""
    for scheme in schemes:
        if url.startswith(scheme) and len(url) > len(scheme):
            return url
    raise ValueError(f"an address begins with {', '.join(schemes[:-1])} or {schemes[-1]}")
