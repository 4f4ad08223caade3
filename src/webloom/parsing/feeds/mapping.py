"""From the elements of a record to the fields of a posting, by tables of paths.

A path names an element of the record, an element within it, or an attribute: `title`,
`location/city`, `job_listing:company`, `@id`, `guid/@ispermalink`. Case does not matter, nor do
hyphens and underscores in names. The paths of all fields become one tree, so that one pass
over a record is enough.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from webloom.parsing.feeds.element import Element, LaidOut, Record
from webloom.parsing.feeds.sanitise import is_html
from webloom.parsing.words import words

FIELDS: Final = (
    "externalId",
    "title",
    "jobUrl",
    "company",
    "location",
    "city",
    "region",
    "country",
    "remote",
    "jobType",
    "salary",
    "salaryMin",
    "salaryMax",
    "salaryCurrency",
    "salaryPeriod",
    "categories",
    "description",
    "publishedAt",
    "expiresAt",
)

ANY: Final = "*"  # whatever the prefix
ANY_OF_OURS: Final = "?"  # whatever the prefix, but none of a namespace with another purpose
_FOREIGN: Final = frozenset(
    words(
        "media itunes georss geo gml slash wfw thr sy dc dcterms atom content xhtml feedburner gd "
        "blogger opensearch googleplay podcast cc creativecommons rawvoice snf webfeeds post-id"
    )
)
_PREFIXES: Final = {  # where a feed declares another prefix for a namespace that is well known
    "http://purl.org/dc/elements/1.1": "dc",
    "http://purl.org/dc/terms": "dcterms",
    "http://purl.org/rss/1.0/modules/content": "content",
    "http://search.yahoo.com/mrss": "media",
    "http://www.w3.org/2005/atom": "atom",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
}
_STEP = re.compile(r"(?:(?:[\w.-]+|\*):)?[\w.-]+")
_SAYS_IT: Final = ("name", "displayname", "title", "label", "value", "text", "term", "amount")
_BODIES: Final = frozenset({"text", "value"})
_COORDINATES: Final = frozenset(words("lat lng lon long latitude longitude"))
_PARTS_OF_A_DATE: Final = frozenset({"year", "month", "day"})
# <field name="Location">: the attribute has the name.
_NAMELESS: Final = frozenset(
    words("field customfield property attribute param parameter classification column")
)
_ASIDE = re.compile(  # of other work, or where it is done beside the place that is named first
    r"(?:secondary|additional|other|alternate|related|similar)[\w-]*?"
    r"(?:location|office|address|place|job|posting|vacanc)"
)
_DEEPEST: Final = 4
_LISTS: Final = frozenset({"categories", "listed", "jobType"})
_MOST_NAMES: Final = 5_000  # that are remembered
_LONGEST_NAME: Final = 100
_MOST_VALUES: Final = 100  # of one field

_SPELT_OUT: Final = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "o", "å": "a", "æ": "ae", "ł": "l"}
)

Values = dict[str, list[str]]  # by field; stripped, never empty


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Raises ValueError with a sentence for the person who wrote it."""
    for field, path in mapping.items():
        if field not in FIELDS:
            raise ValueError(
                f"{field!r} can't be mapped: the fields of a posting are {', '.join(FIELDS)}"
            )
        if not isinstance(path, str) or not _is_path(path):
            raise ValueError(
                f"{path!r} is not a path to map {field} from; write element names, divided by "
                "slashes, and at most one @attribute at the end, such as job_listing:company, "
                "office/name or @id"
            )


def _is_path(path: str) -> bool:
    *steps, last = path.split("/")
    return len(path) <= 200 and all(map(_STEP.fullmatch, [*steps, last.removeprefix("@")]))


def squeezed(name: str) -> str:
    if not name.isascii():
        spelt = unicodedata.normalize("NFKD", name.translate(_SPELT_OUT))
        name = "".join(letter for letter in spelt if not unicodedata.combining(letter))
    return name.replace("_", "").replace("-", "").replace(".", "")


class _Step(NamedTuple):
    """What the tree has for an element of one name."""

    fields: tuple[tuple[str, int], ...]  # with their rank: the lowest is taken
    nodes: tuple[_Node, ...]  # with paths that continue


class _Places(NamedTuple):
    """Where the records of one layout have their fields, if no text in them is empty."""

    usual: list[tuple[str, int]]
    others: list[tuple[str, list[int | str]]]  # several, or texts of attributes, which are the same


class _Node:
    __slots__ = ("attributes", "children", "fields")

    def __init__(self) -> None:
        self.fields: list[tuple[str, int]] = []
        self.children: dict[str, list[tuple[str, _Node]]] = {}  # by name; with the prefix
        self.attributes: dict[str, list[tuple[str, int]]] = {}

    def child(self, name: str, prefix: str) -> _Node:
        known = self.children.setdefault(name, [])
        for its_prefix, node in known:
            if its_prefix == prefix:
                return node
        node = _Node()
        known.append((prefix, node))
        return node


class FieldPaths:
    """The tree."""

    def __init__(self) -> None:
        self.root = _Node()
        self.last_own = 0  # rank of the paths before the common names
        self._rank = 0

    def add(self, paths: Mapping[str, Iterable[str]], *, prefix: str = "") -> None:
        """Of what is added, the earlier goes before the later; of categories and of the job types
        that a format names, all are taken. `prefix` is that of names which are written without
        one: "" is the record's own."""
        if prefix == ANY_OF_OURS:
            self.last_own = self._rank
        for field, candidates in paths.items():
            self._rank += 1
            together = field in _LISTS and (field != "jobType" or prefix != ANY_OF_OURS)
            for path in candidates:
                if not together:
                    self._rank += 1
                self._add(field, path, prefix)

    def _add(self, field: str, path: str, prefix: str) -> None:
        node = self.root
        for step in path.lower().split("/"):
            if step.startswith("@"):
                node.attributes.setdefault(squeezed(step[1:]), []).append((field, self._rank))
                return
            its_prefix, _, name = step.rpartition(":")
            node = node.child(squeezed(name), its_prefix or prefix)
        if all(known != field for known, _ in node.fields):
            node.fields.append((field, self._rank))


class FieldTable:
    """Made once for a feed."""

    def __init__(self, paths: FieldPaths, namespaces: Mapping[str, str]) -> None:
        self._root = paths.root
        self._last_own = paths.last_own
        # By the record's prefix, by name as written.
        self._known: dict[tuple[_Node, str], dict[str, _Step]] = {}
        self._places: dict[object, _Places] = {}  # by layout
        self._prefixes = {
            prefix: _PREFIXES[uri.rstrip("/").lower()]
            for prefix, uri in namespaces.items()
            if prefix and uri.rstrip("/").lower() in _PREFIXES
        }

    def values(self, record: Record) -> Values:
        if isinstance(record, LaidOut):
            texts = [*map(str.strip, record.texts)]
            if all(texts):
                places = self._places.get(record.layout) or self._places_of(record)
                found = {field: [texts[at]] for field, at in places.usual}
                for field, several in places.others:
                    found[field] = [at if isinstance(at, str) else texts[at] for at in several]
                return found
        return self._values(record)

    def _places_of(self, record: LaidOut) -> _Places:
        """Found by mapping a record of marks."""
        marks = {f"\0{at}": at for at in range(len(record.children))}
        marked = [
            Element(child.name, child.prefix, mark, child.attributes)
            for child, mark in zip(record.children, marks, strict=True)
        ]
        places = _Places([], [])
        found = self._values(Element(record.name, record.prefix, children=marked))
        for field, texts in found.items():
            several = [marks.get(text, text) for text in texts]
            if len(several) == 1 and isinstance(several[0], int):
                places.usual.append((field, several[0]))
            else:
                places.others.append((field, several))
        self._places[record.layout] = places
        return places

    def _values(self, record: Record) -> Values:
        found: Values = {}
        ranks: dict[str, int] = {}
        if record.attributes:
            self._visit_attributes(record, self._root, found, ranks)
        self._visit(record, self._root, record.prefix, found, ranks, 0)
        return found

    def _visit(
        self,
        element: Record,
        node: _Node,
        own: str,
        found: Values,
        ranks: dict[str, int],
        depth: int,
    ) -> bool:
        hit = False
        is_root = node is self._root and depth < _DEEPEST
        unnamed: list[Element] = []
        described: list[Element] = []
        known = self._known.get((node, own))
        if known is None:
            known = self._known[node, own] = {}
        for child in element.children:
            name = f"{child.prefix}:{child.name}" if child.prefix else child.name
            if child.attributes and child.name in _NAMELESS:
                child = self._named(child, node, own)
                name = f"{child.prefix}:{child.name}" if child.prefix else child.name
            step = known.get(name)
            if step is None:
                step = self._step(child, node, own)
                if len(known) < _MOST_NAMES and len(name) < _LONGEST_NAME:
                    known[name] = step
            fields = step.fields
            if child.children or child.attributes:
                within = self._within(child, step, own, found, ranks, depth + 1)
                hit = hit or within
                if within and not child.text.strip():
                    continue
            if not fields:
                if is_root and child.children and not step.nodes:
                    unnamed.append(child)
                continue
            text = child.text.strip() if not child.children else _text(child, fields[0][0])
            if child.children and is_root and fields[0][0] == "description":
                described.append(child)
            if text:
                hit = True
                for field, rank in fields:
                    best = ranks.get(field)
                    if best is None or rank < best:
                        ranks[field] = rank
                        found[field] = [text]
                    elif rank == best and len(found[field]) < _MOST_VALUES:
                        found[field].append(text)
        if unnamed:
            self._look_through(unnamed, own, found, ranks, depth + 1)
        for child in described:
            if child.markup is None or not is_html(child.markup):
                inner: tuple[Values, dict[str, int]] = {}, {}
                self._visit(child, self._root, own, *inner, depth + 1)
                for field, texts in inner[0].items():
                    if found.setdefault(field, texts) is texts:
                        ranks[field] = inner[1][field]
        return hit

    def _within(
        self,
        child: Element,
        step: _Step,
        own: str,
        found: Values,
        ranks: dict[str, int],
        depth: int,
    ) -> bool:
        """What an element has in itself."""
        hit = False
        if depth <= _DEEPEST:
            for inner in step.nodes:
                if self._visit_attributes(child, inner, found, ranks):
                    hit = True
                if child.children and self._visit(child, inner, own, found, ranks, depth):
                    hit = True
        return hit

    def _look_through(
        self,
        elements: list[Element],
        own: str,
        found: Values,
        ranks: dict[str, int],
        depth: int,
    ) -> None:
        """Elements that no path names, as if they were not there. What stands in the record itself
        goes before what they have by the same name."""
        direct = set(found) - _LISTS
        for element in elements:
            if _ASIDE.match(element.name):
                continue
            inner: Values = {}
            inner_ranks: dict[str, int] = {}
            self._visit(element, self._root, own, inner, inner_ranks, depth)
            for field, texts in inner.items():
                rank, best = inner_ranks[field], ranks.get(field)
                if best is None or rank < best:
                    ranks[field] = rank
                    found[field] = texts
                elif rank == best and field not in direct:
                    found[field] = (found[field] + texts)[:_MOST_VALUES]

    def _step(self, child: Element, node: _Node, own: str) -> _Step:
        prefix = child.prefix
        if prefix:
            prefix = "" if prefix == own else self._prefixes.get(prefix, prefix)
        fields: dict[str, int] = {}
        nodes: list[_Node] = []
        for wanted, inner in node.children.get(squeezed(child.name), ()):
            if wanted == prefix or (
                prefix not in _FOREIGN if wanted == ANY_OF_OURS else wanted == ANY
            ):
                for field, rank in inner.fields:
                    fields[field] = min(rank, fields.get(field, rank))
                if inner.children or inner.attributes:
                    nodes.append(inner)
        if any(rank <= self._last_own for rank in fields.values()):
            # What the format says of a name goes before what the name means elsewhere.
            fields = {field: rank for field, rank in fields.items() if rank <= self._last_own}
        return _Step(tuple(fields.items()), tuple(nodes))

    def _named(self, child: Element, node: _Node, own: str) -> Element:
        """Under the name that its attribute gives, if that is a known field."""
        name = "".join(child.attributes.get("name", "")[:_LONGEST_NAME].lower().split())
        named = Element(name, child.prefix, child.text, {}, child.children, child.markup)
        return named if self._step(named, node, own).fields else child

    def _visit_attributes(
        self, element: Record, node: _Node, found: Values, ranks: dict[str, int]
    ) -> bool:
        hit = False
        for name, value in element.attributes.items():
            for field, rank in node.attributes.get(squeezed(name), ()):
                if (text := value.strip()) and rank < ranks.get(field, rank + 1):
                    hit = True
                    ranks[field] = rank
                    found[field] = [text]
        return hit


def _text(element: Element, field: str) -> str:
    """Of an element that has elements in it."""
    own = element.text.strip()
    said = ""
    if not own:
        parts = {squeezed(child.name): child.text for child in element.children[:_MOST_VALUES]}
        said = next((text for name in _SAYS_IT if (text := parts.get(name, "").strip())), "")
        if not said and parts.keys() >= _PARTS_OF_A_DATE:
            said = f"{parts['year'].strip()}-{parts['month'].strip()}-{parts['day'].strip()}"
        if field == "description":
            filled = [child for child in element.children if child.children or child.text.strip()]
            bodies = [child for child in filled if child.name in _BODIES]
            if len(bodies) == 1 and not bodies[0].children and len(filled) <= 2:
                return bodies[0].text.strip()
    if said and field != "description":
        return said
    if element.markup is not None and is_html(element.markup):
        return element.markup.strip()
    if own or said:
        return own or said
    return ("\n\n" if field == "description" else ", ").join(leaf_texts(element))


def leaf_texts(element: Element, depth: int = 0) -> list[str]:
    texts: list[str] = []
    for child in element.children[:_MOST_VALUES]:
        if child.children and depth < _DEEPEST:
            texts += leaf_texts(child, depth + 1)
        elif child.name not in _COORDINATES and (text := child.text.strip()):
            texts.append(text)
    return texts[:_MOST_VALUES]
