"""What the admin UI offers for a feed's mapping is what a mapping may name."""

from __future__ import annotations

import re
from pathlib import Path

from webloom.parsing.feeds.mapping import FIELDS

OFFERED = Path(__file__).parents[2] / "admin/src/app/feeds/formats.ts"


def test_the_ui_offers_every_field_of_a_mapping() -> None:
    listed = re.search(r"FIELDS: string\[\] = \[(.*?)\]", OFFERED.read_text(), re.DOTALL)
    assert listed is not None
    assert sorted(re.findall(r'"(\w+)"', listed[1])) == sorted(FIELDS)
