"""Structured data of a page: JSON-LD, microdata, OpenGraph and other metas.

Everything is bounded, as a page may be hostile. What exceeds a bound is left out.
"""

from __future__ import annotations

import html
import json
import re
from itertools import islice
from typing import Any, Final

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webloom.parsing.html_tree.elements import Elements

_MOST_SCRIPTS: Final = 100
_MOST_SCRIPT_CHARACTERS: Final = 4_000_000  # of all scripts together
_MOST_NODES: Final = 1000  # at the top level
_MOST_VALUES: Final = 30_000  # in all JSON-LD of a page
_MOST_DEPTH: Final = 24
_MOST_TYPES: Final = 20  # of a node
_MOST_STRING: Final = 20_000
_MOST_ITEMS: Final = 500  # of microdata
_MOST_PROPERTIES: Final = 3000
_MOST_MARKED: Final = _MOST_ITEMS + _MOST_PROPERTIES
_MOST_PROPERTY_TEXT: Final = 1_000_000  # characters read for microdata, all properties together
_MOST_PARENTS: Final = 200  # between a property and its item
_MOST_METAS: Final = 500
_MOST_META: Final = 5000

_WRAPPING: Final = re.compile(r"<!--|-->|(?:/[/*])?\s*(?:<!\[CDATA\[|\]\]>)(?:\s*\*/)?")
_TRAILING_COMMA: Final = re.compile(r",(\s*[}\]])")
_BAD_ESCAPE: Final = re.compile(r'\\(\\|(?!["/bfnrtu]))')
_BETWEEN_VALUES: Final = re.compile(r"[\s;,\x00-\x1f]*")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_VOCABULARY: Final = re.compile(r"https?://(?:www\.)?(?:schema\.org|data-vocabulary\.org)/", re.I)
_OPEN_GRAPH_NAME: Final = re.compile(r"(?:og|product|article|book|profile|video|music|fb):")

_ADDRESS_ATTRIBUTES: Final = {
    "a": "href",
    "area": "href",
    "link": "href",
    "img": "src",
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "source": "src",
    "track": "src",
    "video": "src",
    "object": "data",
}


class Structured(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    json_ld: list[dict[str, Any]] = []  # top-level nodes; those of an @graph or a list one by one
    microdata: list[dict[str, Any]] = []  # in the form of JSON-LD: {"@type": ..., property: value}
    open_graph: dict[str, str] = {}  # og:, product: and others by their whole name; the first wins
    metas: dict[str, str] = {}  # name or itemprop, lower case: content; the first wins


def read_structured(tree: LexborHTMLParser, elements: Elements | None = None) -> Structured:
    elements = elements or Elements(tree)
    open_graph, metas = _read_metas(elements)
    return Structured(
        json_ld=_read_json_ld(elements),
        microdata=_read_microdata(tree),
        open_graph=open_graph,
        metas=metas,
    )


def types_of(node: dict[str, Any]) -> list[str]:
    """The bare names of the node's types: Product for https://schema.org/Product."""
    types = node.get("@type")
    listed = types[:_MOST_TYPES] if isinstance(types, list) else [types]
    return [re.split(r"[/#:]", one)[-1] for one in listed if isinstance(one, str)]


def _read_json_ld(elements: Elements) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    cleaner = _Cleaner()
    left = _MOST_SCRIPT_CHARACTERS
    scripts = [script for script in elements.of("script") if _is_json_ld(script)]
    for script in scripts[:_MOST_SCRIPTS]:
        text = script.text()
        left -= len(text)
        if left < 0:
            break
        for value in _decoded(text):
            _collect_nodes(cleaner.clean(value, _MOST_DEPTH), nodes)
    return nodes[:_MOST_NODES]


def _is_json_ld(script: LexborNode) -> bool:
    return script.attrs.sget("type").lower().startswith("application/ld+json")


def _decoded(text: str) -> list[Any]:
    try:
        return [msgspec.json.decode(text)]
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    text = _WRAPPING.sub(" ", text)
    if text.lstrip()[1:20].lstrip().startswith("&quot;"):
        text = html.unescape(text)
    values = _loose_values(text)
    if not values:
        mended = _BAD_ESCAPE.sub(lambda found: "\\\\" if found[1] else "", text)
        values = _loose_values(_TRAILING_COMMA.sub(r"\1", mended))
    return values


def _loose_values(text: str) -> list[Any]:
    """JSON values one after the other, up to the first that cannot be read."""
    values: list[Any] = []
    at = _end_of(_BETWEEN_VALUES, text, 0)
    while at < len(text) and len(values) < _MOST_NODES:
        try:
            value, at = LOOSE_JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        values.append(value)
        at = _end_of(_BETWEEN_VALUES, text, at)
    return values


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _no_constant(_: str) -> None:
    """NaN and the infinities become null: no store takes them."""


LOOSE_JSON: Final = json.JSONDecoder(strict=False, parse_constant=_no_constant)


def _collect_nodes(value: Any, nodes: list[dict[str, Any]], depth: int = 4) -> None:
    if depth == 0:
        return
    if isinstance(value, list):
        for one in value:
            _collect_nodes(one, nodes, depth - 1)
    elif isinstance(value, dict):
        graph = value.get("@graph")
        if isinstance(graph, list | dict):
            _collect_nodes(graph, nodes, depth - 1)
        if not isinstance(graph, list | dict) or "@type" in value:
            nodes.append({name: one for name, one in value.items() if name != "@graph"})


class _Cleaner:
    """Copies JSON values within bounds: what is too deep or too much becomes None."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def clean(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth == 0:
            return None
        if isinstance(value, str):
            return _storable(value)
        if isinstance(value, dict):
            items = islice(value.items(), max(self._left, 0))
            return {_storable(name): self.clean(one, depth - 1) for name, one in items}
        if isinstance(value, list):
            return [self.clean(one, depth - 1) for one in value[: max(self._left, 0)]]
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return float(value) if abs(value) < 10**300 else None
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return None
        return value


def _storable(text: str) -> str:
    text = text[:_MOST_STRING]
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def _read_microdata(tree: LexborHTMLParser) -> list[dict[str, Any]]:
    with_either = tree.css("[itemscope], [itemprop]")  # twice, where it has both
    marked = {node.mem_id: node for node in with_either[: 2 * _MOST_MARKED]}
    return _MicrodataReader().read(list(marked.values())[:_MOST_MARKED]) if marked else []


class _MicrodataReader:
    def __init__(self) -> None:
        self._items: dict[int, dict[str, Any]] = {}  # by the address of the element
        self._owners: dict[int, int | None] = {}  # of each element passed: its nearest item
        self._text_left = _MOST_PROPERTY_TEXT

    def read(self, marked: list[LexborNode]) -> list[dict[str, Any]]:
        """The top-level items. Nodes come in the order of the page, so owners before properties."""
        top: list[dict[str, Any]] = []
        depths: dict[int, int] = {}
        for node in marked:
            attributes = node.attributes
            names = (attributes.get("itemprop") or "").split()[:10]
            owner = self._owner(node)
            item: dict[str, Any] | None = None
            if "itemscope" in attributes and len(self._items) < _MOST_ITEMS:
                depths[node.mem_id] = depths.get(owner, 0) + 1 if owner is not None else 1
                if depths[node.mem_id] <= _MOST_DEPTH:
                    item = self._items[node.mem_id] = _new_item(attributes)
            if not names or owner is None:
                if item is not None:
                    top.append(item)
                continue
            value = item if item is not None else self._value(node, attributes)
            for name in names:
                _add(self._items[owner], name, value)
        return top

    def _owner(self, node: LexborNode) -> int | None:
        passed: list[int] = []
        owner: int | None = None
        parent = node.parent
        while parent is not None and len(passed) < _MOST_PARENTS:
            mark = parent.mem_id
            if mark in self._items:
                owner = mark
                break
            if mark in self._owners:
                owner = self._owners[mark]
                break
            passed.append(mark)
            parent = parent.parent
        for mark in passed:
            self._owners[mark] = owner
        return owner

    def _value(self, node: LexborNode, attributes: dict[str, str | None]) -> str:
        content = attributes.get("content")
        if content is None:
            tag = node.tag or ""
            if tag in _ADDRESS_ATTRIBUTES:
                content = attributes.get(_ADDRESS_ATTRIBUTES[tag])
            elif tag in ("data", "meter", "input"):
                content = attributes.get("value")
            elif tag == "time":
                content = attributes.get("datetime")
        if content is None:
            if self._text_left <= 0:
                return ""
            content = node.text()
            self._text_left -= len(content)
        return _storable(" ".join(content[:_MOST_STRING].split()))


def _new_item(attributes: dict[str, str | None]) -> dict[str, Any]:
    item: dict[str, Any] = {}
    types = [
        _storable(_VOCABULARY.sub("", one)) for one in (attributes.get("itemtype") or "").split()
    ][:5]
    if types:
        item["@type"] = types[0] if len(types) == 1 else types
    if identity := attributes.get("itemid"):
        item["@id"] = _storable(identity)
    return item


def _add(item: dict[str, Any], name: str, value: Any) -> None:
    name = _storable(name)
    if name not in item:
        item[name] = value
    elif isinstance(item[name], list):
        item[name].append(value)
    else:
        item[name] = [item[name], value]


def _read_metas(elements: Elements) -> tuple[dict[str, str], dict[str, str]]:
    open_graph: dict[str, str] = {}
    metas: dict[str, str] = {}
    attributes_of_all = (node.attributes for node in elements.of("meta"))
    with_content = (attributes for attributes in attributes_of_all if "content" in attributes)
    for attributes in islice(with_content, _MOST_METAS):
        content = _storable((attributes.get("content") or "").strip()[:_MOST_META])
        if not content:
            continue
        if whole := attributes.get("property"):
            open_graph.setdefault(_storable(whole.strip().lower()), content)
        if name := attributes.get("name") or attributes.get("itemprop"):
            name = _storable(name.strip().lower())
            metas.setdefault(name, content)
            if _OPEN_GRAPH_NAME.match(name):
                open_graph.setdefault(name, content)
    return open_graph, metas
