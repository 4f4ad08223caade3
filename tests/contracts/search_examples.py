"""What `q` finds. Every list of every store is searched for these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

TEXT = "Senior/Widget-Maker/42"  # as a part of a URL, too
EXAMPLES = {
    "senior": True,
    "sen": True,  # the beginning of a word
    "WIDG seni": True,  # several, in any order and case
    "maker": True,  # behind a hyphen
    "4 mak": True,  # digits
    "enior": False,  # not a beginning
    "senior plumber": False,  # one is missing
    "widget-maker": True,  # joined, so in a row
    "widget-mak": True,
    "maker-widget": False,
    '"widget maker"': True,  # quoted: whole words in a row
    '"widget mak"': False,
    '"widget mak*"': True,
    '"widget mak"*': True,
    '"senior maker"': False,
    'maker "senior widget"': True,
    '"widget mak': False,  # without the second quote
    "mak*": True,
    "*": False,  # no word at all
    "!?": False,
    '""': False,
    " ": True,  # nothing is asked for
}
ACCENTED = "Crème brûlée Żółw ΑΒΓ 東京"  # for texts that people write
OF_ACCENTED = {
    "creme": True,
    "CRÈME": True,
    "bru": True,
    "zo": True,
    "αβ": True,
    "東": True,
    "京": False,
    "cremes": False,
}


async def results(
    examples: dict[str, bool], is_found: Callable[[str], Awaitable[bool]]
) -> dict[str, bool]:
    """To be compared with the examples."""
    return {query: await is_found(query) for query in examples}
