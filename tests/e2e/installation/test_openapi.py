"""The OpenAPI document and the answers that it describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from e2e.api_client import Api
from e2e.installation.calls import healthy
from e2e.watched_site import WatchedSite

ROUTES = {
    ("GET", "/api/overview"),
    ("GET", "/api/live"),
    ("GET", "/metadata/counts"),
    ("GET", "/api/queues"),
    ("GET", "/api/queues/{queue}/dead"),
    ("POST", "/api/queues/{queue}/dead/put-back"),
    ("POST", "/api/queues/{queue}/dead/discard"),
    ("POST", "/api/feeds/preview"),
    ("POST", "/api/watches/preview"),
    ("GET", "/api/system"),
    ("POST", "/metadata"),
    ("GET", "/metadata"),
    ("DELETE", "/metadata"),
    ("POST", "/metadata/batch"),
    ("GET", "/metadata/source"),
    ("GET", "/metadata/records"),
    ("GET", "/health"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/metrics"),
    ("POST", "/api/feeds"),
    ("GET", "/api/feeds"),
    ("GET", "/api/feeds/opml"),
    ("POST", "/api/feeds/opml"),
    ("POST", "/api/feeds/opml/preview"),
    ("GET", "/api/feeds/{feedId}"),
    ("PATCH", "/api/feeds/{feedId}"),
    ("DELETE", "/api/feeds/{feedId}"),
    ("POST", "/api/feeds/{feedId}/pause"),
    ("POST", "/api/feeds/{feedId}/resume"),
    ("POST", "/api/import/run"),
    ("GET", "/api/import-logs"),
    ("GET", "/api/import-logs/stream"),
    ("GET", "/api/import-logs/sse"),
    ("GET", "/api/import-logs/{runId}"),
    ("POST", "/api/import-logs/{runId}/retry"),
    ("POST", "/api/import-logs/{runId}/cancel"),
    ("GET", "/api/jobs"),
    ("GET", "/api/jobs/{dedupeKey}"),
    ("POST", "/api/watch/events"),
    ("POST", "/api/watches"),
    ("GET", "/api/changes"),
    ("GET", "/api/changes/counts"),
    ("GET", "/api/changes/muted"),
    ("POST", "/api/changes/mute"),
    ("POST", "/api/changes/state"),
    ("GET", "/api/watches"),
    ("POST", "/api/watches/import"),
    ("POST", "/api/watches/import/preview"),
    ("GET", "/api/watches/{jobId}"),
    ("PATCH", "/api/watches/{jobId}"),
    ("DELETE", "/api/watches/{jobId}"),
    ("POST", "/api/watches/{jobId}/pause"),
    ("POST", "/api/watches/{jobId}/resume"),
    ("POST", "/api/watches/{jobId}/run"),
    ("GET", "/api/watches/{jobId}/notices"),
    ("GET", "/api/watches/{jobId}/feed.atom"),
    ("GET", "/api/watch/feed.atom"),
    ("GET", "/api/watch/runs"),
    ("GET", "/api/watch/runs/export"),
    ("GET", "/api/watch/runs/{runId}"),
    ("GET", "/api/watch/pages"),
    ("GET", "/api/watch/pages/versions"),
    ("GET", "/api/watch/pages/versions/{version}"),
    ("GET", "/api/watch/pages/diff"),
    ("GET", "/api/watch/pages/changes"),
    ("GET", "/api/watch/pages/prices"),
    ("GET", "/api/watch/pages/prices/curve"),
    ("GET", "/api/watch/storage"),
    ("POST", "/api/feeds/bulk"),
    ("GET", "/api/feeds/export"),
    ("GET", "/api/feeds/tags"),
    ("POST", "/api/import-logs/bulk"),
    ("GET", "/api/import-logs/export"),
    ("GET", "/api/jobs/export"),
    ("POST", "/api/recognise"),
    ("GET", "/api/queues/{queue}/dead/export"),
    ("POST", "/api/queues/{queue}/dead/bulk"),
    ("GET", "/api/troubles"),
    ("GET", "/api/watch/pages/export"),
    ("POST", "/api/watches/bulk"),
    ("GET", "/api/watches/export"),
    ("GET", "/api/watches/tags"),
    ("GET", "/api/worker-logs"),
    ("POST", "/metadata/bulk"),
    ("GET", "/metadata/records/export"),
    ("GET", "/api/backup"),
    ("POST", "/api/restore/preview"),
    ("GET", "/api/restore"),
    ("POST", "/api/restore"),
    ("DELETE", "/api/restore"),
}
TAKES_NO_JSON = (
    *("/opml", "/opml/preview", "/pause", "/resume", "/retry", "/cancel", "{jobId}/run"),
    *("/restore", "/restore/preview"),
)


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _at(document: dict[str, Any], reference: str) -> object:
    assert reference.startswith("#/")
    value: Any = document
    for part in reference[2:].split("/"):
        value = value[part]
    return value


async def test_the_openapi_document_describes_every_route(api: Api) -> None:
    document = (await api.call("GET", "/openapi.json")).body
    assert document["openapi"].startswith("3.")
    operations = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert operations.keys() == ROUTES
    references = {*_references(document)}
    assert references
    for reference in references:
        assert _at(document, reference), reference
    ids = [operation["operationId"] for operation in operations.values()]
    assert len(ids) == len({*ids})
    for (method, path), operation in operations.items():
        assert operation["summary"], path
        assert operation["description"], path
        for status, answer in operation["responses"].items():
            if status >= "400" and not path.startswith("/health"):
                assert answer["content"].keys() == {"application/problem+json"}, (path, status)
        if method == "POST" and not path.endswith(TAKES_NO_JSON):
            assert "application/json" in operation["requestBody"]["content"]
        if path.startswith("/metadata"):
            assert {"422", "503"} <= operation["responses"].keys()


async def test_lists_share_one_envelope(api: Api) -> None:
    document = (await api.call("GET", "/openapi.json")).body
    pages = {
        name: schema["properties"].keys()
        for name, schema in document["components"]["schemas"].items()
        if name.endswith("Page") and name != "RecognisedPage"  # a web page
    }
    assert pages.pop("ImportLogsPage") >= {"data", "page", "limit", "total", "totalPages"}
    assert len(pages) > 10
    for name, fields in pages.items():
        assert {"data", "nextCursor"} <= fields, name
        assert not [field for field in fields if "_" in field], name


async def test_answers_have_the_fields_that_the_document_names(api: Api, site: WatchedSite) -> None:
    document = (await api.call("GET", "/openapi.json")).body
    schemas = document["components"]["schemas"]
    url = site.url("/page")
    answers = {
        "Submitted": (await api.submit(url)).body,
        "RecordResponse": await api.record(url),
        "RecordsPage": (await api.records()).body,
        "Problem": (await api.call("GET", "/api/nothing")).body,
        "Health": await healthy(api),
    }
    for name, body in answers.items():
        assert body.keys() == schemas[name]["properties"].keys(), name
