"""Values of the formats that the OpenAPI document names, for Schemathesis."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import schemathesis
from hypothesis import strategies as st

LETTERS = "abcdefghijklmnopqrstuvwxyz"
words = st.text(LETTERS, min_size=1, max_size=8)
urls = st.builds("https://{}.example/{}".format, words, words)
FORMATS: dict[str, st.SearchStrategy[str]] = {
    "http-url": urls,
    "address": st.builds("{}.example/{}".format, words, words),
    "cursor": words,
    "name": words,
    "job-id": words,
    "feed-path": st.sampled_from(["author", "office/name", "job_listing:company", "@id"]),
    "cron": st.sampled_from(["*/10 * * * *", "30 2 * * mon", "@daily"]),
    "time-zone": st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
    "selector": st.sampled_from(["main", "#price > b", "//article", "xpath:h1"]),
    "phrase": words,
    "tag": words,
    "re2": st.sampled_from(["[0-9]+", "visitors$", "(a|b)c"]),
    "notification-url": st.builds("https://{}.example/hook".format, words),
    "opml": urls.map('<opml><body><outline xmlUrl="{}"/></body></opml>'.format),
}


def backup(url: str) -> str:
    """A character for each byte."""
    content = BytesIO()
    with ZipFile(content, "w") as archive:
        archive.writestr("url-list.txt", url)
    return content.getvalue().decode("latin-1")


FORMATS["changedetection-backup"] = urls.map(backup)
for name, strategy in FORMATS.items():
    schemathesis.openapi.format(name, strategy)


@schemathesis.hook
def before_call(_: Any, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """A cursor can't be made up: it comes from the page before."""
    if case.meta is not None and case.meta.generation.mode.is_positive:
        case.query.pop("cursor", None)


@schemathesis.hook
def filter_case(_: Any, case: schemathesis.Case[Any]) -> bool:
    """A text is never of the wrong type."""
    is_text = (case.media_type or "").startswith(("text/", "application/zip"))
    return not is_text or isinstance(case.body, str)


def text(_: Any, value: Any) -> Any:
    return str(value).encode()


def ndjson(_: Any, value: Any) -> Any:
    return f"{json.dumps(value)}\n".encode()


def binary(_: Any, value: Any) -> Any:
    return value if isinstance(value, bytes) else str(value).encode()


def archive(_: Any, value: Any) -> Any:
    return str(value).encode("latin-1", "replace")


schemathesis.serializer("text/plain", "text/x-opml")(text)
schemathesis.serializer("application/zip")(archive)
schemathesis.serializer("application/x-ndjson")(ndjson)
schemathesis.serializer("application/zstd")(binary)
