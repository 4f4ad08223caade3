"""Values of the formats that the OpenAPI document names, for Schemathesis."""

from __future__ import annotations

import json
from typing import Any

import schemathesis
from hypothesis import strategies as st

LETTERS = "abcdefghijklmnopqrstuvwxyz"
words = st.text(LETTERS, min_size=1, max_size=8)
urls = st.builds("https://{}.example/{}".format, words, words)
FORMATS: dict[str, st.SearchStrategy[str]] = {
    "http-url": urls,
    "cursor": words,
    "name": words,
    "job-id": words,
    "feed-path": st.sampled_from(["author", "office/name", "job_listing:company", "@id"]),
    "cron": st.sampled_from(["*/10 * * * *", "30 2 * * mon", "@daily"]),
    "time-zone": st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
    "selector": st.sampled_from(["main", "#price > b", "//article", "xpath:h1"]),
    "phrase": words,
    "re2": st.sampled_from(["[0-9]+", "visitors$", "(a|b)c"]),
    "notification-url": st.builds("https://{}.example/hook".format, words),
    "opml": urls.map('<opml><body><outline xmlUrl="{}"/></body></opml>'.format),
}
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
    is_text = (case.media_type or "").startswith("text/")
    return not is_text or isinstance(case.body, str)


def text(_: Any, value: Any) -> Any:
    return str(value).encode()


def ndjson(_: Any, value: Any) -> Any:
    return f"{json.dumps(value)}\n".encode()


schemathesis.serializer("text/plain", "text/x-opml")(text)
schemathesis.serializer("application/x-ndjson")(ndjson)
