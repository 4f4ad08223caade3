"""Text other than HTML: plain text, JSON, XML and feeds."""

from __future__ import annotations

import html
import re
from typing import Final

import msgspec

from webloom.parsing.pages.page import Kind
from webloom.parsing.pages.page_text import one_line, plain_lines
from webloom.parsing.text_decoding import media_type

_SNIFFED: Final = 1024
_IS_HTML: Final = re.compile(r"<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>]", re.IGNORECASE)
_IS_XML: Final = re.compile(r"\s*(?:<\?xml|<rss[\s>]|<feed[\s>])", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]*>")
_TITLE: Final = re.compile(r"<title[^<>]*>([^<>]{1,2000})</title>", re.IGNORECASE)


def kind_of(text: str, content_type: str | None) -> Kind:
    """As the server says; where it says nothing of use, as it looks."""
    mime = media_type(content_type)
    head = text[:_SNIFFED]
    if "html" in mime:
        return Kind.HTML
    if mime.endswith("json"):
        return Kind.JSON
    if mime.endswith("xml"):
        return Kind.HTML if _IS_HTML.search(head) else Kind.XML
    if mime.startswith("text/") or "script" in mime:
        return Kind.PLAIN
    if _IS_XML.match(head) and not _IS_HTML.search(head):
        return Kind.XML
    if head.lstrip().startswith(("{", "[")):
        return Kind.JSON
    return Kind.HTML if "<" in head or not head.strip() else Kind.PLAIN


def document_text(text: str, kind: Kind) -> tuple[str | None, str]:
    """The title, if any, and the lines of a document that is not HTML."""
    if kind is Kind.JSON:
        return None, plain_lines(_json_lines(text))
    if kind is Kind.XML:
        return _xml_text(text)
    return None, plain_lines(text)


def _json_lines(text: str) -> str:
    """Keys in one order, so that another order is not a change."""
    try:
        value = msgspec.json.decode(text)
        ordered = msgspec.json.encode(value, order="deterministic")
        return msgspec.json.format(ordered, indent=1).decode()
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return text


def _xml_text(text: str) -> tuple[str | None, str]:
    text = text.replace("<![CDATA[", "").replace("]]>", "")
    found = _TITLE.search(text)
    title = one_line(html.unescape(found[1])) if found else None
    return title or None, plain_lines(html.unescape(_TAG.sub("\n", text)))
