"""An index of a tree by tag: one walk over the tree instead of one per query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

TEXT: Final = "-text"  # instead of the tag of an element


class Elements:
    """Valid until the tree changes. A place is the index of a node in document order."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        root = tree.root
        walk = root.traverse(include_text=True, skip_empty=True) if root is not None else ()
        self.nodes: Sequence[LexborNode] = list(walk)  # texts too, but none of white space alone
        by_number: defaultdict[int, list[int]] = defaultdict(list)
        for place, number in enumerate([node.tag_id for node in self.nodes]):
            by_number[number].append(place)
        # A name takes longer to read than a number, and all elements with the number share it.
        named = ((self.nodes[places[0]].tag or "", places) for places in by_number.values())
        self._places: dict[str, list[int]] = dict(named)

    def places(self, *tags: str) -> list[int]:
        found = [self._places[tag] for tag in tags if tag in self._places]
        return found[0] if len(found) == 1 else sorted(chain.from_iterable(found))

    def of(self, *tags: str) -> list[LexborNode]:
        nodes = self.nodes
        return [nodes[place] for place in self.places(*tags)]
