"""Origins of web pages, in the spelling that browsers send: https://ui.example.org:8443."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

ANY = "*"
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")


def origin_of(text: str) -> str:
    """The one spelling of an origin. Raises ValueError for what no browser sends as one."""
    if text == ANY:
        return ANY
    parts = urlsplit(text)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    if scheme not in _PORTS:
        raise ValueError(f"{text} does not begin with http:// or https://")
    if parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(f"{text} has more than a scheme, a host and a port")
    if not (_is_ipv6(host) if "[" in parts.netloc else _NAME.fullmatch(host)):
        raise ValueError(f"{text} has no valid host; names with other letters begin with xn--")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError(f"{text} has no valid port")
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" + ("" if port in (None, _PORTS[scheme]) else f":{port}")


def _is_ipv6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False
