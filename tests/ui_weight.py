"""What a browser has to load before a page of the built admin UI works."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

UI = Path(__file__).parents[1] / "src/webloom/_ui"
MOST_JS = 200_000  # bytes, gzip
_SCRIPTS = re.compile(r'<script (?![^>]*nomodule)[^>]*src="/([^"]+)"', re.IGNORECASE)


def first_loads() -> dict[str, int]:
    """Bytes of all scripts that a page names in its HTML, gzipped, by page; old browsers' extra one
    apart."""
    sizes = {}
    for page in UI.rglob("*.html"):
        names = set(_SCRIPTS.findall(page.read_text(encoding="utf-8")))
        weight = sum(len(gzip.compress((UI / name).read_bytes(), 6)) for name in names)
        sizes[page.relative_to(UI).as_posix()] = weight
    return sizes
