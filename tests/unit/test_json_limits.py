"""What a JSON document contains, counted before it is decoded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.parsing.json_limits import JsonLimits, JsonTooLarge, refuse_too_large

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab"\\[]{},\n', max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('a",{'), inner, max_size=4),
    max_leaves=30,
)


def counted(value: Any) -> int:
    match value:
        case dict():
            return 1 + sum(map(counted, value.values()))
        case list():
            return 1 + sum(map(counted, value))
    return 1


def levels(value: Any) -> int:
    match value:
        case dict():
            return 1 + max(map(levels, value.values()), default=0)
        case list():
            return 1 + max(map(levels, value), default=0)
    return 0


def fits(document: bytes, **limits: Any) -> bool:
    try:
        refuse_too_large(document, JsonLimits(**({"values": 1000} | limits)))
    except JsonTooLarge:
        return False
    return True


@given(JSON, st.booleans())
def test_values_and_levels_are_counted_exactly(value: Any, is_spread: bool) -> None:
    document = msgspec.json.encode(value)
    if is_spread:
        document = msgspec.json.format(document, indent=3)
    values, depth = counted(value), levels(value)
    assert fits(document, values=values, depth=depth)
    assert values == 1 or not fits(document, values=values - 1, depth=depth)
    assert depth == 0 or not fits(document, values=values, depth=depth - 1)


@given(st.lists(JSON, max_size=8))
def test_items_are_those_of_the_outermost_array(items: list[Any]) -> None:
    document = msgspec.json.encode(items)
    assert fits(document, items=len(items))
    assert len(items) < 2 or not fits(document, items=len(items) - 1)
    within = msgspec.json.encode({"a": 1, "data": items})
    assert fits(within, items=0)
    assert fits(within, items=len(items), items_level=2)
    assert len(items) < 2 or not fits(within, items=len(items) - 1, items_level=2)


def test_the_error_names_the_limit() -> None:
    limits = JsonLimits(values=9000, depth=3, items=1000, called="events")
    with pytest.raises(JsonTooLarge, match=r"^more than 1,000 events$"):
        refuse_too_large(b"[" + b"1," * 1000 + b"1]", limits)
    with pytest.raises(JsonTooLarge, match=r"^more than 9,000 values$"):
        refuse_too_large(b'{"a":[' + b"1," * 9000 + b"1]}", limits)
    with pytest.raises(JsonTooLarge, match=r"nested more than 3 levels deep$"):
        refuse_too_large(b"[[[[", limits)


@pytest.mark.parametrize(
    "document",
    [b"", b"]", b"}},", b'"', b'"\\', b'["a', b'"a""b"', b"[1,]", b"{,", b"\xff[", b"[[]}"],
)
def test_what_is_not_json_is_left_to_the_decoder(document: bytes) -> None:
    refuse_too_large(document, JsonLimits(values=1000, items=3))
    refuse_too_large(document * 70, JsonLimits(values=1000, depth=1000))


def test_texts_without_commas_are_counted_too() -> None:
    assert not fits(b"[[" + b'"a"' * 3000, depth=1000, values=1000, items=0)
