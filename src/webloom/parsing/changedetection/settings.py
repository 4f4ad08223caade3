"""What all watches of a backup share: the settings, and those of their groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webloom.parsing.changedetection.values import mapping, minutes, shown, text, texts
from webloom.parsing.list_entry import Note

USUAL_MINUTES = 180.0  # changedetection.io's own default
BROWSERS = ("html_webdriver", "html_js", "extra_browser_", "playwright", "puppeteer", "selenium")
MOST_GROUPS = 1000
# Lists of a watch that are joined with those of its groups.
JOINED = (
    "include_filters", "subtractive_selectors", "ignore_text", "trigger_text", "extract_text",
    "text_should_not_be_present", "extract_lines_containing",
)  # fmt: skip
_GROUP_TEXTS = (*JOINED, "notification_urls")
_GROUP_VALUES = (
    "title", "url_match_pattern", "notification_muted", "overrides_watch",
    "processor_config_restock_diff",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedSettings:
    minutes: float = USUAL_MINUTES
    uses_browser: bool = False
    all_paused: bool = False
    all_muted: bool = False
    targets: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by key
    notes: list[Note] = field(default_factory=list)


def shared_settings(settings: object, groups: dict[str, dict[str, Any]]) -> SharedSettings:
    """`groups` are those that have a file of their own; others are in the settings."""
    application = mapping(mapping(settings).get("application"))
    requests = mapping(mapping(settings).get("requests"))
    inner = mapping(application.get("tags"))
    old_minutes = minutes({"minutes": requests.get("minutes_between_check")})
    every = {key: group_of(mapping(inner[key])) for key in list(inner)[:MOST_GROUPS]} | groups
    return SharedSettings(
        minutes=minutes(requests.get("time_between_check")) or old_minutes or USUAL_MINUTES,
        uses_browser=text(application.get("fetch_backend")).startswith(BROWSERS),
        all_paused=application.get("all_paused") is True,
        all_muted=application.get("all_muted") is True,
        targets=texts(application.get("notification_urls")),
        ignored=texts(application.get("global_ignore_text")),
        dropped=texts(application.get("global_subtractive_selectors")),
        groups=every,
        notes=_notes(mapping(settings), requests, every),
    )


def group_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is used of it."""
    kept = {name: given[name] for name in _GROUP_VALUES if given.get(name)}
    return kept | {name: texts(given[name]) for name in _GROUP_TEXTS if given.get(name)}


def _notes(
    settings: Mapping[str, Any],
    requests: Mapping[str, Any],
    groups: Mapping[str, Mapping[str, Any]],
) -> list[Note]:
    notes = []
    if mapping(settings.get("headers")):
        notes.append(Note("Request headers for all watches"))
    if requests.get("proxy") or requests.get("extra_proxies"):
        notes.append(Note("Proxies"))
    for group in groups.values():
        if pattern := shown(group.get("url_match_pattern")):
            notes.append(Note("Groups that find their watches by address", pattern))
    return notes[:20]
