from __future__ import annotations

from typing import Any

import msgspec
import pytest

from webloom.diffs.pages import MOST_URLS, diff_pages, whole_page_diff
from webloom.parsing.pages.page import ParsedPage

OLD = ParsedPage(
    title="Blue loom",
    text="Blue loom\nPrice: $10.99\nIn stock",
    images=["https://e.example/1.png", "https://e.example/2.png"],
    links=["https://e.example/a", "https://e.example/b"],
)
NONE = {"added": [], "removed": [], "addedCount": 0, "removedCount": 0}


def sent(new: ParsedPage) -> dict[str, Any]:
    """As it is on the queue."""
    got: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(diff_pages(OLD, new)))
    return got


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(OLD, id="the same page"),
        pytest.param(
            msgspec.structs.replace(OLD, images=OLD.images[::-1], links=OLD.links[::-1]),
            id="the order of images and links",
        ),
        pytest.param(
            msgspec.structs.replace(OLD, images=[*OLD.images, OLD.images[0]]), id="an image twice"
        ),
        pytest.param(
            msgspec.structs.replace(
                OLD, title=" Blue\tloom", text=OLD.text.replace(" ", "\xa0 ").replace("\n", "\r\n")
            ),
            id="white space",
        ),
    ],
)
def test_no_change(new: ParsedPage) -> None:
    assert sent(new) == {"textChanged": False, "images": NONE, "links": NONE}
    assert not diff_pages(OLD, new).is_change


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"images": ["https://e.example/3.png", "https://e.example/1.png"]},
            {
                "images": {
                    "added": ["https://e.example/3.png"],
                    "removed": ["https://e.example/2.png"],
                    "addedCount": 1,
                    "removedCount": 1,
                }
            },
        ),
        ({"links": []}, {"links": {**NONE, "removed": OLD.links, "removedCount": 2}}),
        ({"title": "Red loom"}, {"title": {"previous": "Blue loom", "current": "Red loom"}}),
        ({"title": None}, {"title": {"previous": "Blue loom", "current": None}}),
    ],
    ids=["images", "links", "title", "no title"],
)
def test_what_changed_beside_the_text(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    new = msgspec.structs.replace(OLD, **changed)
    assert sent(new) == {"textChanged": False, "images": NONE, "links": NONE, **expected}
    assert diff_pages(OLD, new).is_change


def test_a_changed_text_is_compared_line_by_line() -> None:
    got = sent(msgspec.structs.replace(OLD, text=OLD.text.replace("10.99", "9.99")))
    assert got["textChanged"] is True
    text = got["text"]
    assert (text["linesAdded"], text["linesRemoved"], text["linesMoved"]) == (1, 1, 0)
    assert text["hunks"][0]["operations"][1] == {
        "op": "replace",
        "oldLine": 2,
        "newLine": 2,
        "words": [["equal", "Price: $"], ["delete", "10"], ["insert", "9"], ["equal", ".99"]],
    }


def test_what_is_kept_is_small_and_says_how_much_there_was() -> None:
    new = ParsedPage(
        text="\n".join(f"line {n} of a long page" for n in range(100_000)),
        images=[f"data:image/png;base64,{n}{'A' * 100_000}" for n in range(300)],
    )
    diff = diff_pages(OLD, new)
    assert len(msgspec.json.encode(diff)) < 500_000
    assert (len(diff.images.added), diff.images.added_count) == (MOST_URLS, 300)
    assert diff.text is not None
    assert diff.text.is_truncated
    assert diff.text.lines_added == 100_000
    whole = whole_page_diff(OLD, new)
    assert whole.images.added == new.images
    assert whole.text is not None
    assert not whole.text.is_truncated
