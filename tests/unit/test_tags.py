from __future__ import annotations

import pytest

from webloom.domain.tags import (
    LONGEST_TAG,
    MOST_LISTED,
    MOST_TAGS,
    TagCount,
    checked_tags,
    counted_tags,
    first_tags,
    with_tags,
    without_tags,
)


def test_tags_are_trimmed_normalised_and_unique_whatever_their_case() -> None:
    assert checked_tags([" a b ", "e\u0301", "É", "A B", "x" * LONGEST_TAG]) == [
        "a b", "\xe9", "x" * LONGEST_TAG,
    ]  # fmt: skip


BAD = [
    ([""], "empty"),
    ([" "], "empty"),
    (["x" * (LONGEST_TAG + 1)], "longer than 50"),
    (["a,b"], "comma"),
    (["a\nb"], "control character"),
    (["\ud800"], "control character"),
    ([f"{number}" for number in range(MOST_TAGS + 1)], "more than 20"),
]


@pytest.mark.parametrize(("tags", "reason"), BAD, ids=[row[1] for row in BAD])
def test_what_is_not_a_tag_is_refused(tags: list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        checked_tags(tags)


def test_tags_are_added_and_removed_whatever_their_case() -> None:
    assert with_tags(["News"], ["news", "b"]) == ["News", "b"]
    assert without_tags(["News", "b"], ["NEWS", "c"]) == ["b"]


def test_the_first_that_can_be_tags_are_taken() -> None:
    given = ["News", "", "a,b", "x" * (LONGEST_TAG + 1), "NEWS", *map(str, range(MOST_TAGS + 1))]
    assert first_tags(given) == ["News", *map(str, range(MOST_TAGS - 1))]


def test_tags_are_counted_and_the_rarest_are_left_out_if_there_are_too_many() -> None:
    assert counted_tags([["b", "A"], ["a"]]) == [
        TagCount(tag="A", count=2), TagCount(tag="b", count=1),
    ]  # fmt: skip
    many = counted_tags([["most"], *([f"t{n}", "most"] for n in range(MOST_LISTED + 5))])
    assert len(many) == MOST_LISTED
    assert TagCount(tag="most", count=MOST_LISTED + 6) in many
