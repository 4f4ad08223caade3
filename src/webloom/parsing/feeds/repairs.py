"""Defects of a feed that was read despite them, counted by kind."""

from __future__ import annotations

BARE_AMPERSAND = "bare ampersand"  # R&D: kept as it is
HTML_ENTITY = "undeclared entity"  # &eacute;: resolved as in HTML
UNKNOWN_ENTITY = "unknown entity"  # &foo;: kept as it is
BAD_REFERENCE = "invalid character reference"  # &#0;: dropped; &amp without its end: resolved
CONTROL_CHARACTER = "control character"  # dropped
WRONG_ENCODING = "wrong encoding"  # a record in another one than the feed declares: read as it is
MISMATCHED_TAG = "mismatched tag"  # an end without its beginning, or the other way round
BAD_TAG = "malformed tag"  # attributes without quotes, twice, or without a value
BAD_JSON = "malformed JSON"  # commas before a bracket, unknown escapes: read as they are meant
STRAY_LESS_THAN = "stray <"  # kept as text
STRAY_CDATA_END = "misplaced ]]>"  # kept as text
UNTERMINATED = "unterminated section"  # a comment or CDATA: ended where its element ends
UNDECLARED_PREFIX = "undeclared prefix"  # once for each prefix
JUNK = "junk around the document"  # skipped
TRUNCATED = "truncated"  # the feed ends before its end


class Repairs(dict[str, int]):
    def note(self, kind: str, times: int = 1) -> None:
        self[kind] = self.get(kind, 0) + times

    @property
    def total(self) -> int:
        return sum(self.values())
