from __future__ import annotations

import base64
import binascii
from typing import Final

from webloom.parsing.feeds.element import Element, Head, Record
from webloom.parsing.feeds.formats.format import Context, Format, has_other_records, names_of
from webloom.parsing.feeds.mapping import Values
from webloom.parsing.feeds.urls import alternate
from webloom.parsing.text_decoding import decode_body, media_type

_MOST_BASE64: Final = 6_000_000  # characters; more than any description may have
_PLAIN_TYPES: Final = frozenset({"", "text", "html", "xhtml"})


def _certainty(head: Head) -> int:
    if has_other_records(head, "entry"):
        return 0
    if head.root in ("feed", "entry"):
        return 60 if "atom" in head.namespaces.get("", "").lower() else 50
    return 40 if "entry" in names_of(head) and "feed" in names_of(head) else 0


def _refine(values: Values, record: Record, context: Context) -> None:
    url = alternate(record)
    if url:
        values["jobUrl"] = [url]
    elif values.get("externalId", [""])[0].lower().startswith(("http://", "https://")):
        values.setdefault("jobUrl", values["externalId"])
    categories = [
        said
        for category in record.all("category")
        if (said := category.attributes.get("label") or category.attributes.get("term"))
    ]
    if categories:
        values["categories"] = categories
    _decode_content(values, record)


def _decode_content(values: Values, record: Record) -> None:
    """Content of a media type that is neither text nor XML is Base64 (RFC 4287, 4.1.3.3). What is
    not text after all gives way to the summary; what is not Base64 after all stays."""
    content = record.first("content", record.prefix)
    if content is None or content.children or not _says_base64(content):
        return
    encoded = content.text.strip()
    if not encoded or values.get("description") != [encoded]:  # it comes from elsewhere
        return
    try:
        decoded = _decoded(encoded)
    except binascii.Error:
        return
    text = decode_body(decoded, content.attributes.get("type")) or ""
    if not text.strip():
        summary = record.first("summary", record.prefix)
        text = "" if summary is None or summary.children else summary.text
    if text.strip():
        values["description"] = [text.strip()]
    else:
        del values["description"]


def _says_base64(content: Element) -> bool:
    if content.attributes.get("mode", "").strip().lower() == "base64":  # Atom 0.3
        return True
    kind = media_type(content.attributes.get("type"))
    if kind in _PLAIN_TYPES or kind.startswith("text/"):
        return False
    is_xml = kind.endswith(("/xml", "+xml")) or kind.startswith("application/xml-")
    return "/" in kind and not is_xml


def _decoded(encoded: str) -> bytes:
    """Empty where it is too long to be a description. Raises binascii.Error."""
    if len(encoded) > _MOST_BASE64:
        return b""
    if not encoded.isascii():
        raise binascii.Error("not ASCII")
    compact = "".join(encoded.split())
    return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)


FORMAT = Format(
    name="atom",
    about="Atom 0.3 and 1.0",
    record_names=frozenset({"entry"}),
    certainty=_certainty,
    fields={
        "externalId": ("id",),
        "title": ("title",),
        "jobUrl": ("feedburner:origlink",),
        "description": ("content", "summary"),
        "publishedAt": ("published", "issued", "created", "updated", "modified", "dc:date"),
    },
    last_resort={
        "company": ("author/name", "source/title", "dc:creator"),
        "description": ("media:group/media:description", "media:description"),
    },
    refine=_refine,
)
