from __future__ import annotations

from urllib.parse import urljoin


def joined(base: str, url: str) -> str:
    """Relative as long as both are."""
    try:
        return urljoin(base, url)
    except ValueError:  # a broken address, such as http://[
        return base
