"""Backups as changedetection.io 0.60.10 makes them, and in the older layout with one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

# A new watch, with the hours of its days left out.
WATCH: dict[str, Any] = {
    "body": None,
    "browser_steps": [],
    "browser_steps_last_error_step": None,
    "check_count": 0,
    "check_unique_lines": False,
    "conditions": [],
    "conditions_match_logic": "ALL",
    "consecutive_filter_failures": 0,
    "content-type": None,
    "extract_lines_containing": [],
    "extract_text": [],
    "fetch_backend": "system",
    "fetch_time": 0.0,
    "filter_failure_notification_send": True,
    "filter_text_added": True,
    "filter_text_removed": True,
    "filter_text_replaced": True,
    "follow_price_changes": True,
    "has_ldjson_price_data": None,
    "headers": {},
    "history_snapshot_max_length": None,
    "ignore_status_codes": None,
    "ignore_text": [],
    "in_stock_only": True,
    "include_filters": [],
    "last_checked": 0,
    "last_error": False,
    "last_notification_error": None,
    "last_viewed": 0,
    "link_to_open": "",
    "llm_backend_profile": True,
    "llm_change_summary": "",
    "llm_change_summary_mode": "replace",
    "llm_evaluation_cache": {},
    "llm_intent": "",
    "llm_prefilter": None,
    "method": "GET",
    "notification_alert_count": 0,
    "notification_body": None,
    "notification_format": "System default",
    "notification_muted": False,
    "notification_screenshot": False,
    "notification_title": None,
    "notification_urls": [],
    "page_title": None,
    "paused": False,
    "previous_md5": False,
    "price_change_threshold_percent": None,
    "processor": "text_json_diff",
    "proxy": None,
    "remote_server_reply": None,
    "remove_duplicate_lines": False,
    "sort_text_alphabetically": False,
    "strip_ignored_lines": None,
    "subtractive_selectors": [],
    "tag": "",
    "tags": [],
    "text_should_not_be_present": [],
    "time_between_check": {
        "days": None,
        "hours": None,
        "minutes": None,
        "seconds": None,
        "weeks": None,
    },
    "time_between_check_use_default": True,
    "time_schedule_limit": {"enabled": False},
    "title": None,
    "track_ldjson_price_data": None,
    "trigger_text": [],
    "trim_text_whitespace": False,
    "use_page_title_in_list": None,
    "webdriver_delay": None,
    "webdriver_js_execute_code": None,
}
APPLICATION: dict[str, Any] = {
    "all_muted": False, "all_paused": False, "fetch_backend": "html_requests",
    "global_ignore_text": [], "global_subtractive_selectors": [], "notification_urls": [],
}  # fmt: skip
REQUESTS: dict[str, Any] = {
    "extra_proxies": [], "proxy": None,
    "time_between_check": {"weeks": None, "days": None, "hours": 3, "minutes": None},
}  # fmt: skip


def watch(url: str, **settings: Any) -> dict[str, Any]:
    return WATCH | {"url": url} | settings


def archive(files: Mapping[str, bytes]) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED, compresslevel=8) as written:
        for name, content in files.items():
            written.writestr(name, content)
    return made.getvalue()


def backup(
    *watches: Mapping[str, Any],
    groups: Mapping[str, Mapping[str, Any]] | None = None,
    application: Mapping[str, Any] | None = None,
    requests: Mapping[str, Any] | None = None,
    more: Mapping[str, bytes] | None = None,
) -> bytes:
    """The first watch has the key 0."""
    settings = _settings(application, requests)
    files: dict[str, bytes] = {
        "changedetection.json": _json({"watching": {}, "settings": settings})
    }
    for key, group in (groups or {}).items():
        files[f"{key}/tag.json"] = _json({**WATCH, **group})
    for number, each in enumerate(watches):
        files[f"{number}/watch.json"] = _json({"uuid": str(number), **each})
        files[f"{number}/history.txt"] = b"1795037713,snapshot.txt.br"
    urls = "".join(f"{each.get('url')}\r\n" for each in watches)
    files["url-list.txt"] = urls.encode()
    return archive(files | dict(more or {}))


def old_backup(
    *watches: Mapping[str, Any],
    groups: Mapping[str, Mapping[str, Any]] | None = None,
    requests: Mapping[str, Any] | None = None,
) -> bytes:
    settings = _settings({"tags": groups or {}}, requests)
    watching = {str(number): each for number, each in enumerate(watches)}
    content = {
        "watching": watching,
        "settings": settings,
        "app_guid": "test",
        "version_tag": "0.45",
    }
    return archive({"url-watches.json": _json(content), "secret.txt": b"x"})


def _settings(
    application: Mapping[str, Any] | None, requests: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        "headers": {},
        "application": APPLICATION | dict(application or {}),
        "requests": REQUESTS | dict(requests or {}),
    }


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2).encode()
