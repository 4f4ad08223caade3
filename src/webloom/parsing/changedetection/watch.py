"""A watch of changedetection.io -> an entry of a list, with notes on what can't be carried over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webloom.domain.schedule import LONGEST_MINUTES, SHORTEST_MINUTES
from webloom.domain.tags import LONGEST_TAG, first_tags, tag_key
from webloom.parsing.changedetection.selection import chosen_parts
from webloom.parsing.changedetection.settings import BROWSERS, JOINED, SharedSettings
from webloom.parsing.changedetection.values import amount, mapping, minutes, shown, text, texts
from webloom.parsing.list_entry import Entry, Note

RESTOCK = "restock_diff"  # the processor, and the key of its settings

_SOURCE = "source:"
_TEMPLATE = ("{{", "{%")
_IF_SET = {
    "body": "Request body",
    "extract_lines_containing": "Lines to keep",
    "extract_text": "Patterns that extract text",
    "headers": "Request headers",
    "history_snapshot_max_length": "Number of versions to keep",
    "ignore_status_codes": "HTTP errors that are ignored",
    "link_to_open": "Another address to open",
    "llm_change_summary": "AI summary",
    "llm_intent": "AI filter",
    "notification_body": "Text of notifications",
    "notification_screenshot": "Screenshots in notifications",
    "notification_title": "Text of notifications",
    "proxy": "Proxy",
    "text_should_not_be_present": "Texts that must be absent",
    "trigger_text": "Texts to wait for",
    "webdriver_js_execute_code": "JavaScript to run on the page",
    "check_unique_lines": "Only lines that were never there before",
}
_NO_STEPS = ("Choose one", "Goto site")  # of the form, and what every check does
_IF_OFF = ("filter_text_added", "filter_text_removed", "filter_text_replaced")


def entry_of(watch: Mapping[str, Any], shared: SharedSettings) -> Entry:
    """The watch as POST /api/watches takes it. Whether Webloom accepts its address, its selectors
    and its targets is for the caller to find out."""
    url = text(watch.get("url"))
    name = shown(watch.get("title")) or shown(watch.get("page_title"))
    if _is_template(url):
        reason = "its address is a template, which Webloom does not fill in"
        return Entry(given={"url": url, "name": name or url[:200]}, refused=reason, is_foreign=True)
    groups = [shared.groups[each] for each in texts(watch.get("tags")) if each in shared.groups]
    merged = _with_groups(watch, groups)
    notes = list(_notes(merged, shared))
    schedule = _schedule(watch, shared, notes)
    given: dict[str, Any] = {
        "url": url.removeprefix(_SOURCE),
        "schedule": {"everyMinutes": schedule},
        "enabled": not (watch.get("paused") is True or shared.all_paused),
        "selection": chosen_parts(merged, shared, notes),
        "tags": _tags(watch, groups, notes),
        "targets": [{"url": each} for each in _targets(watch, groups, shared, notes)],
    }
    if name:
        given["name"] = name
    if watch.get("processor") == RESTOCK:
        given["thresholds"] = _thresholds(watch, groups, notes)
    return Entry(given=given, notes=list(dict.fromkeys(notes)), is_foreign=True)


def _is_template(url: str) -> bool:
    return any(each in url for each in _TEMPLATE)


def _with_groups(watch: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Lists of a watch are joined with those of its groups."""
    merged = dict(watch)
    for name in JOINED:
        merged[name] = [each for one in (watch, *groups) for each in texts(one.get(name))]
    if not merged["include_filters"]:
        merged["include_filters"] = texts(watch.get("css_filter"))  # before there could be several
    return merged


def _notes(watch: Mapping[str, Any], shared: SharedSettings) -> Iterator[Note]:
    for name, what in _IF_SET.items():
        if watch.get(name):
            yield Note(what)
    if any(_is_step(each) for each in _objects(watch.get("browser_steps"))):
        yield Note("Browser steps")
    if any(each.get("field") for each in _objects(watch.get("conditions"))):
        yield Note("Conditions")
    if any(watch.get(name) is False for name in _IF_OFF):
        yield Note("Kinds of changes that are ignored")
    method = shown(watch.get("method"))
    if method and method != "GET":
        yield Note("Request method", method[:20])
    if mapping(watch.get("time_schedule_limit")).get("enabled") is True:
        yield Note("Hours at which it may be checked")
    if text(watch.get("url")).startswith(_SOURCE):
        yield Note("Comparison of the page's source")
    backend = text(watch.get("fetch_backend")) or "system"
    if backend.startswith(BROWSERS) or (backend == "system" and shared.uses_browser):
        yield Note("A browser to fetch with: Webloom runs no JavaScript")
    kind = shown(watch.get("processor")) or "text_json_diff"
    if kind not in ("text_json_diff", RESTOCK):
        yield Note("Its way to compare", kind[:50])


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [mapping(each) for each in value] if isinstance(value, list) else []


def _is_step(step: Mapping[str, Any]) -> bool:
    return bool(step.get("operation")) and step["operation"] not in _NO_STEPS


def _schedule(watch: Mapping[str, Any], shared: SharedSettings, notes: list[Note]) -> float:
    own = minutes(watch.get("time_between_check"))
    own = own or minutes({"minutes": watch.get("minutes_between_check")})
    wanted = shared.minutes if own is None or watch.get("time_between_check_use_default") else own
    possible = min(max(wanted, SHORTEST_MINUTES), LONGEST_MINUTES)
    if possible != wanted:
        notes.append(Note("Its interval, which is outside the limits", f"{wanted:g} minutes"))
    return possible


def _tags(
    watch: Mapping[str, Any], groups: list[Mapping[str, Any]], notes: list[Note]
) -> list[str]:
    """Groups and, of older versions, names with commas between them."""
    names = [shown(each.get("title")).replace(",", " ") for each in groups]
    names += [shown(each) for each in text(watch.get("tag")).split(",")]
    tags = first_tags(name[:LONGEST_TAG] for name in names)
    kept = {"", *map(tag_key, tags)}
    notes += [Note("Tags", name) for name in names if tag_key(name[:LONGEST_TAG]) not in kept]
    return tags


def _targets(
    watch: Mapping[str, Any],
    groups: list[Mapping[str, Any]],
    shared: SharedSettings,
    notes: list[Note],
) -> list[str]:
    """Its own, those of its first group that has any, or those for all watches."""
    if watch.get("notification_muted") is True or shared.all_muted:
        notes.append(Note("Muted notifications: it is added without targets"))
        return []
    audible = [each for each in groups if each.get("notification_muted") is not True]
    of_groups = (texts(each.get("notification_urls")) for each in audible)
    own = texts(watch.get("notification_urls"))
    found = dict.fromkeys(own or next(filter(None, of_groups), shared.targets))
    if templates := [each for each in found if _is_template(each)]:
        notes.append(Note("Notification targets with a template", str(len(templates))))
    return [each for each in found if each not in templates]


def _thresholds(
    watch: Mapping[str, Any], groups: list[Mapping[str, Any]], notes: list[Note]
) -> dict[str, Any]:
    """A group that overrides its watches, or the watch itself, has the settings."""
    key = f"processor_config_{RESTOCK}"
    holders = [mapping(each.get(key)) for each in groups if each.get("overrides_watch")]
    own = (watch.get(RESTOCK), watch.get(key), watch.get("restock_settings"))
    found = next(filter(None, [*holders, *map(mapping, own)]), watch)
    if amount(found.get("price_change_max")):
        notes.append(Note("A price above which to notify"))
    if found.get("in_stock_processing", "in_stock_only") == "in_stock_only":
        notes.append(Note("Only when it is in stock again: Webloom notifies about every change"))
    thresholds = {
        "priceBelow": amount(found.get("price_change_min")),
        "priceChangePercent": amount(found.get("price_change_threshold_percent")),
    }
    return {name: value for name, value in thresholds.items() if value is not None}
