"""Texts that the indexes of words are searched for."""

from __future__ import annotations

from webloom.adapters.sqlite.batches import plain


def phrase_of(text: str) -> str:
    """For FTS5: all words in a row; with a star at the end, the last one is a prefix."""
    text = plain(text)
    phrase = '"' + text.rstrip("* ").replace('"', '""') + '"'
    return phrase + " *" if text.endswith("*") else phrase
