"""Web URLs: one normal form for every spelling of an address, or a refusal with a reason.

URLs are refused here for their form only. Where a well-formed URL leads is checked by the network
policy, which sees the address that is connected to.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import idna

from webloom.domain.errors import UrlRefused

MAX_URL_BYTES = 8192
_MAX_HOST = 253
_DEFAULT_PORTS = {"http": "80", "https": "443"}

_SAFE = r"A-Za-z0-9\-_~!$&'()*+,;=:@/."
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
# Most URLs are normal already, and one match proves it. What it does not match, such as percent
# signs, rare ports and "/.", takes the long way.
_USUAL = re.compile(
    rf"https?://(?=[^/]{{1,{_MAX_HOST}}}/)"
    rf"(?:(?:[a-z0-9-]{{1,63}}\.)+[a-z]{{2,63}}|(?:{_OCTET}\.){{3}}{_OCTET})"
    r"(?::(?!80/|443/)(?:[1-5][0-9]{4}|[1-9][0-9]{0,3}))?/"
    rf"[{_SAFE}]*(?:\?[{_SAFE}?]*)?"
)
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?([^/?#]*)([^?#]*)(\?[^#]*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TO_ENCODE = re.compile(rf"%[0-9A-Fa-f]{{2}}|%|[^{_SAFE}%]+")
_TO_ENCODE_IN_QUERY = re.compile(rf"%[0-9A-Fa-f]{{2}}|%|[^{_SAFE}?%]+")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_NUMBER = re.compile(
    r"[0-9]+|0x[0-9a-f]*"
)  # what the URL standard reads as part of an IPv4 address
_PORT = re.compile(r"[0-9]{1,5}")


def normalise(url: str) -> str:
    """The one spelling of this URL; the spelling of a normalised URL is itself.

    Raises UrlRefused with a sentence for the person who gave the URL.
    """
    if len(url) <= MAX_URL_BYTES and _USUAL.fullmatch(url) and "/." not in url:
        return url
    url = url.strip()
    if len(url) > MAX_URL_BYTES:  # characters, never more than bytes: cheap, before any work
        raise UrlRefused(f"the URL is longer than {MAX_URL_BYTES} bytes")
    _refuse_forbidden_characters(url)
    parts = _PARTS.match(url)
    if parts is None:
        raise UrlRefused("the URL must begin with http:// or https://")
    scheme, slashes, authority, path, query = parts.groups()
    scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS or slashes is None:
        raise UrlRefused("the URL must begin with http:// or https://")
    path = _resolve_dots(_TO_ENCODE.sub(_encode, path)) if path else "/"
    if query is not None:
        path += "?" + _TO_ENCODE_IN_QUERY.sub(_encode, query[1:])
    normalised = f"{scheme}://{_authority(scheme, authority)}{path}"
    if len(normalised) > MAX_URL_BYTES:
        raise UrlRefused(f"the URL is longer than {MAX_URL_BYTES} bytes")
    return normalised


def host_of(url: str) -> str:
    """The host of a normalised URL, without brackets and port."""
    authority = url.split("/", 3)[2]
    if authority.startswith("["):
        return authority[1 : authority.index("]")]
    return authority.partition(":")[0]


def join(base: str, location: str) -> str:
    """Where a redirect from the normalised URL `base` leads, normalised.

    Raises UrlRefused like normalise.
    """
    location = location.strip()
    _refuse_forbidden_characters(location)
    location = location.partition("#")[0]
    scheme, _, rest = base.partition("://")
    if _SCHEME.match(location):
        return normalise(location)
    if location.startswith("//"):
        return normalise(f"{scheme}:{location}")
    authority, _, path = rest.partition("/")
    path = "/" + path
    if location.startswith("/"):
        path = location
    elif location.startswith("?"):
        path = path.partition("?")[0] + location
    elif location:
        path = path.partition("?")[0].rpartition("/")[0] + "/" + location
    return normalise(f"{scheme}://{authority}{path}")


def _refuse_forbidden_characters(url: str) -> None:
    found = _FORBIDDEN.search(url)
    if found is None:
        return
    if found[0] == "\\":
        raise UrlRefused("the URL contains a backslash")
    if found[0] >= "\ud800":
        raise UrlRefused("the URL contains a lone surrogate, which is not a character")
    raise UrlRefused("the URL contains a control character")


def _encode(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] == "%" and len(text) == 3:  # an escape: the same byte is always written the same way
        character = chr(int(text[1:], 16))
        return character if character in _UNRESERVED else text.upper()
    return "%" + text.encode().hex("%").upper()


def _resolve_dots(path: str) -> str:
    """RFC 3986, section 5.2.4; empty segments count."""
    if "/." not in path:
        return path
    segments = path.split("/")[1:]
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _authority(scheme: str, authority: str) -> str:
    if "@" in authority:
        raise UrlRefused("the URL contains a user name or password, which is not supported")
    if "%" in authority:
        raise UrlRefused("the host of the URL contains a percent sign")
    host, port = authority, ""
    if ":" in authority and not authority.endswith("]"):
        host, _, port = authority.rpartition(":")
    host = _ipv6(host) if host.startswith("[") else _name_or_ipv4(host)
    if not port:  # "http://host:/" has the default port too
        return host
    if not _PORT.fullmatch(port) or not 0 < int(port) <= 65535:
        raise UrlRefused("the port of the URL must be a number from 1 to 65535")
    port = str(int(port))
    return host if port == _DEFAULT_PORTS[scheme] else f"{host}:{port}"


def _ipv6(literal: str) -> str:
    try:
        if not literal.endswith("]"):
            raise AddressValueError
        return f"[{IPv6Address(literal[1:-1]).compressed}]"
    except AddressValueError:
        raise UrlRefused("the host of the URL is not a valid IPv6 address") from None


def _name_or_ipv4(host: str) -> str:
    host = _to_ascii(host) if not host.isascii() else host.lower()
    host = host.removesuffix(".")
    if not host:
        raise UrlRefused("the URL has no host")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        # Libraries disagree on 127.1, 0x7f.1 and 2130706433; only the plain form means one thing.
        try:
            return str(IPv4Address(host))
        except AddressValueError:
            raise UrlRefused(
                "the host of the URL ends in a number but is not a plain IPv4 address"
            ) from None
    if len(host) > _MAX_HOST or any(len(label) > 63 for label in labels):
        raise UrlRefused("the host of the URL is too long")
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlRefused("the host of the URL is not a valid name")
    return host


def _to_ascii(host: str) -> str:
    if len(host) > _MAX_HOST:  # mapping and punycode are slow on long input
        raise UrlRefused("the host of the URL is too long")
    try:
        # Label by label, so that an underscore, common in real names, does not spoil the others.
        labels = idna.uts46_remap(host, std3_rules=False).split(".")
        return ".".join(
            label if label.isascii() else idna.alabel(label).decode("ascii") for label in labels
        )
    except UnicodeError as error:  # the base of every error in idna
        raise UrlRefused("the host of the URL is not a valid international name") from error
