"""Patterns of many phrases. RE2 looks for all of them at once, where Python tries one by one."""

from __future__ import annotations

import re
from typing import Any

import re2  # type: ignore[import-untyped]  # the package has no types


def phrases(text: str) -> Any:
    """One pattern that finds any of the phrases, whatever the case of the letters. They stand on
    lines of their own or between " | ", and may have groups and classes of patterns in them."""
    found = (one.strip() for one in re.split(r"\s\|\s|\n", text))
    return re2.compile("(?i)" + "|".join(one for one in found if one))
