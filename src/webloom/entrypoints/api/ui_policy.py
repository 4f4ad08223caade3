"""The Content-Security-Policy of the admin UI.

Next writes inline scripts into its pages: each page's policy has the hashes of its own. This module
is also used while the UI is built, and imports the standard library only.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from urllib.parse import urlsplit

_RULES = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'{api}; font-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'"
)
_NOT_FRAMED = "; frame-ancestors 'none'"  # which browsers accept in a header only
_INLINE_SCRIPT = re.compile(rb"<script(?:\s[^>]*)?>(.*?)</script>", re.DOTALL)
# Browsers look for the character set in the first kilobyte, so that it stays in front.
_HEAD = re.compile(rb'<head>(?:<meta charset="utf-8" ?/?>)?', re.IGNORECASE)


def policy(page: bytes = b"", api_base: str = "") -> str:
    """The header for a page or another file; `api_base` is the URL of its API."""
    return _rules(page, api_base) + _NOT_FRAMED


def with_policy(page: bytes, api_base: str) -> bytes:
    """The page with its policy in a meta element, for any web server."""
    content = html.escape(_rules(page, api_base))
    tag = f'<meta http-equiv="Content-Security-Policy" content="{content}">'.encode()
    changed, count = _HEAD.subn(lambda head: head[0] + tag, page, count=1)
    if not count:
        raise ValueError("a page without a <head>")
    return changed


def _rules(page: bytes, api_base: str) -> str:
    parts = urlsplit(api_base)
    api = f" {parts.scheme}://{parts.netloc}" if api_base else ""
    return _RULES.format(scripts=_script_hashes(page), api=api)


def _script_hashes(page: bytes) -> str:
    scripts = filter(None, _INLINE_SCRIPT.findall(page))
    digests = {hashlib.sha256(code).digest() for code in scripts}
    return "".join(f" 'sha256-{base64.b64encode(each).decode()}'" for each in sorted(digests))
