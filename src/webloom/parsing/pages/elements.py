"""What is in a tree by its tag: one walk over the tree instead of one for each question."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

TEXT: Final = "-text"  # instead of the tag of an element


class Elements:
    """Of a tree as it is now: after something is taken out of it, they are not to be used."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        root = tree.root
        walk = root.traverse(include_text=True, skip_empty=True) if root is not None else ()
        self.nodes: list[LexborNode] = list(walk)  # texts too, but none of white space alone
        self.tags = [node.tag or "" for node in self.nodes]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        places = self._places
        for place, tag in enumerate(self.tags):
            places[tag].append(place)

    def first(self, tag: str) -> int | None:
        """The place in `nodes` of the first of a kind."""
        return self._places[tag][0] if tag in self._places else None

    def of(self, *tags: str) -> list[LexborNode]:
        """In the order of the page."""
        nodes = self.nodes
        found = [self._places[tag] for tag in tags if tag in self._places]
        places = found[0] if len(found) == 1 else sorted(chain.from_iterable(found))
        return [nodes[place] for place in places]
