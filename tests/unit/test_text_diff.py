from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webloom.diffs.align import aligned
from webloom.diffs.forms import side_by_side_lines, unified_lines
from webloom.diffs.shown import text_of
from webloom.diffs.steps import Steps
from webloom.diffs.summary import bounded
from webloom.diffs.text_diff import DiffLimits, Operation, TextDiff
from webloom.diffs.texts import diff_texts

FEW_WORDS = st.sampled_from(["loom", "weft", "10.99", "in stock", "線", "{", "", "  warp  warp "])
LINES = st.lists(st.lists(FEW_WORDS, max_size=6).map(" ".join), max_size=30)
TEXTS = st.one_of(LINES.map("\n".join), st.text(max_size=300))
SPACES = st.text(" \t\f\v\xa0\u2003\u2028\u3000", min_size=1, max_size=3)
STEPS = st.sampled_from([0, 1, 20, 100, 400, 3_000_000])

Numbered = list[tuple[int, str]]


def unified(diff: TextDiff, *, old_name: str = "old", new_name: str = "new") -> str:
    return text_of(unified_lines(diff, old_name=old_name, new_name=new_name))


def side_by_side(diff: TextDiff, width: int) -> str:
    return text_of(side_by_side_lines(diff, width))


def lines_of(text: str) -> Numbered:
    """Those that count, with their numbers."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [(n, " ".join(line.split())) for n, line in enumerate(lines, 1) if line.strip()]


def joined(operation: Operation, kind: str) -> str:
    return "".join(text for each, text in operation.words if each in ("equal", kind)).strip(" ")


def applied(diff: TextDiff, old: Numbered) -> list[str]:
    """The lines of the new text, made of the old one's. Holds every deleted, equal, replaced and
    moved line against the old text on the way."""
    rest, made = list(old), list[str]()

    def take(lines: list[str]) -> None:
        for line in lines:
            assert rest.pop(0)[1] == line

    for operation in (each for hunk in diff.hunks for each in hunk.operations):
        while rest and rest[0][0] < operation.old_line:
            made.append(rest.pop(0)[1])
        match operation.op:
            case "equal":
                take(operation.lines)
                made.extend(operation.lines)
            case "insert":
                made.extend(operation.lines)
            case "delete":
                take(operation.lines)
            case "move" if operation.moved_to is not None:
                take(operation.lines)
            case "move":
                made.extend(operation.lines)
            case "replace":
                take([joined(operation, "delete")])
                made.append(joined(operation, "insert"))
    return made + [line for _, line in rest]


def operations(diff: TextDiff) -> Iterator[Operation]:
    return (each for hunk in diff.hunks for each in hunk.operations if each.op != "equal")


@given(TEXTS, TEXTS, STEPS)
def test_a_diff_turns_the_old_text_into_the_new_one(old: str, new: str, steps: int) -> None:
    diff = diff_texts(old, new, limits=DiffLimits(steps=steps))
    assert applied(diff, lines_of(old)) == [line for _, line in lines_of(new)]
    assert diff.steps <= steps
    numbers = dict(lines_of(new))
    for each in operations(diff):
        if each.op in ("insert", "replace") or each.moved_from is not None:
            first = each.lines[0] if each.lines else joined(each, "insert")
            assert numbers[each.new_line] == first
        if each.moved_from is not None:
            assert dict(lines_of(old))[each.moved_from] == each.lines[0]


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_hunks_and_counts_add_up(old: str, new: str, context: int) -> None:
    diff = diff_texts(old, new, limits=DiffLimits(context=context))
    found = list(operations(diff))
    removed = sum(len(each.lines) for each in found if each.op == "delete")
    added = sum(len(each.lines) for each in found if each.op == "insert")
    replaced = sum(each.op == "replace" for each in found)
    moved = sum(len(each.lines) for each in found if each.moved_to is not None)
    assert (diff.lines_removed, diff.lines_added) == (removed + replaced, added + replaced)
    assert diff.lines_moved == moved
    text = unified(diff).splitlines()[2:]
    for hunk in diff.hunks:
        assert text.pop(0).startswith("@@ -")
        shown = [text.pop(0)[0] for _ in range(_shown_lines(hunk.operations))]
        assert shown.count(" ") + shown.count("-") == hunk.old_lines
        assert shown.count(" ") + shown.count("+") == hunk.new_lines
    assert not text


def _shown_lines(found: list[Operation]) -> int:
    return sum(2 if each.op == "replace" else len(each.lines) for each in found)


@given(TEXTS)
def test_equal_texts_have_no_hunks(text: str) -> None:
    assert diff_texts(text, text) == TextDiff()


@given(TEXTS, SPACES, SPACES, st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \t\n"]))
def test_white_space_is_not_a_change(text: str, between: str, around: str, line_end: str) -> None:
    spaced = line_end.join(
        around + between.join(line.split(" ")) + around for _, line in lines_of(text)
    )
    diff = diff_texts(text, spaced)
    assert not diff.hunks
    assert diff.lines_added == diff.lines_removed == diff.lines_moved == 0


@given(TEXTS, TEXTS, st.integers(0, 3), st.integers(0, 600))
def test_a_summary_fits_and_says_whether_it_is_all(
    old: str, new: str, most_hunks: int, most_bytes: int
) -> None:
    diff = diff_texts(old, new)
    summary = bounded(diff, most_hunks=most_hunks, most_bytes=most_bytes)
    assert len(summary.hunks) <= most_hunks
    assert len(msgspec.json.encode(summary.hunks)) <= most_bytes + 2
    assert summary.is_truncated == (summary.hunks != diff.hunks)
    assert summary.lines_added == diff.lines_added
    kept, whole = list(_texts(summary)), list(_texts(diff))
    assert kept == whole[: len(kept)]
    unified(summary)
    side_by_side(summary, 40)


def _texts(diff: TextDiff) -> Iterator[str]:
    for each in operations(diff):
        yield from each.lines
        yield from (text for _, text in each.words)


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_few_kinds_of_items_are_aligned_as_far_as_can_be(old: list[int], new: list[int]) -> None:
    blocks = aligned(old, new, Steps(1_000_000))
    found = 0
    a = b = 0
    for at, there, length in blocks:
        assert at >= a
        assert there >= b
        assert old[at : at + length] == new[there : there + length]
        a, b, found = at + length, there + length, found + length
    assert found <= _longest_common(old, new)
    if not _has_anchor(old, new):
        assert found == _longest_common(old, new)


def _has_anchor(old: list[int], new: list[int]) -> bool:
    """Whether, between what is equal at both ends, an item is once in either: such items are held
    on to even if that is not the shortest way."""
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return any(old.count(item) == new.count(item) == 1 for item in old)


def _longest_common(old: list[int], new: list[int]) -> int:
    row = [0] * (len(new) + 1)
    for item in old:
        before = row.copy()
        for j, other in enumerate(new):
            row[j + 1] = before[j] + 1 if item == other else max(before[j + 1], row[j])
    return row[-1]


PAGE = "Shop\nBlue loom\nPrice: $10.99\nIn stock, ships today\nFooter of the shop"


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(
            PAGE.replace("$10.99", "$12.49"),
            [("replace", 3, 3, ["=Price: $", "-10.99", "+12.49"])],
            id="one word of a line, numbers as a whole",
        ),
        pytest.param(
            PAGE.replace("In stock, ships today", "Sold out"),
            [("replace", 4, 4, ["-In stock, ships today", "+Sold out"])],
            id="a line by another one",
        ),
        pytest.param(
            PAGE.replace("Price", "Only this week\nPrice"),
            [("insert", 3, 3, ["Only this week"])],
            id="a line more",
        ),
        pytest.param(PAGE + "\nBye", [("insert", 6, 6, ["Bye"])], id="a line more at the end"),
        pytest.param(
            PAGE.replace("Blue loom\n", ""), [("delete", 2, 2, ["Blue loom"])], id="a line less"
        ),
        pytest.param("", [("delete", 1, 2, PAGE.split("\n"))], id="nothing is left"),
        pytest.param(
            "Shop\nOnly this week\nBlue loom, red loom\nPrice: $10.99\nIn stock, ships today\n"
            "Footer of the shop",
            [
                ("insert", 2, 2, ["Only this week"]),
                ("replace", 2, 3, ["=Blue loom", "+, red loom"]),
            ],
            id="the line that is most like it became it",
        ),
    ],
)
def test_the_operations_of_small_changes(
    new: str, expected: list[tuple[str, int, int, list[str]]]
) -> None:
    signs = {"equal": "=", "delete": "-", "insert": "+"}
    found = [
        (
            each.op,
            each.old_line,
            each.new_line,
            each.lines or [signs[kind] + text for kind, text in each.words],
        )
        for each in operations(diff_texts(PAGE, new))
    ]
    assert found == expected


def test_words_of_scripts_without_blanks_are_characters() -> None:
    (change,) = operations(diff_texts("織機の価格は千円です", "織機の価格は三百円です"))
    assert change.words == [
        ("equal", "織機の価格は"),
        ("delete", "千"),
        ("insert", "三百"),
        ("equal", "円です"),
    ]


def test_a_moved_block_is_listed_at_both_places() -> None:
    rest = [f"line {n}" for n in range(20)]
    block = ["Weaving is an old craft", "of many hands"]
    diff = diff_texts("\n".join([*block, *rest]), "\n".join([*rest[:15], *block, *rest[15:]]))
    away, here = operations(diff)
    assert (away.op, away.old_line, away.moved_to, away.lines) == ("move", 1, 16, block)
    assert (here.op, here.new_line, here.moved_from, here.lines) == ("move", 16, 1, block)
    assert (diff.lines_moved, diff.lines_added, diff.lines_removed) == (2, 0, 0)


@pytest.mark.parametrize("line", ["4", "Buy now"])
def test_a_few_characters_are_not_a_moved_block(line: str) -> None:
    rest = [f"line {n}" for n in range(20)]
    diff = diff_texts("\n".join([line, *rest]), "\n".join([*rest, line]))
    assert [each.op for each in operations(diff)] == ["delete", "insert"]


def test_which_of_two_equal_lines_moved_is_not_guessed() -> None:
    rest, line = [f"line {n}" for n in range(20)], "Weaving is an old craft"
    old, new = [line, *rest[:10], line, *rest[10:]], [*rest[:5], line, *rest[5:]]
    diff = diff_texts("\n".join(old), "\n".join(new))
    assert [each.op for each in operations(diff)] == ["delete", "insert", "delete"]


def test_unified() -> None:
    old = "\n".join(["Weaving is an old craft", *(f"line {n}" for n in range(1, 13))])
    new = "\n".join(
        [*(f"line {n}" for n in range(1, 12)), "line 12 is new", "Weaving is an old craft"]
    )
    assert unified(diff_texts(old, new), old_name="a", new_name="b") == (
        "--- a\n+++ b\n"
        "@@ -1,4 +1,3 @@ line at -1 moved to +13\n"
        "-Weaving is an old craft\n line 1\n line 2\n line 3\n"
        "@@ -10,4 +9,5 @@ line at +13 moved from -1\n"
        " line 9\n line 10\n line 11\n-line 12\n+line 12 is new\n+Weaving is an old craft\n"
    )
    assert unified(diff_texts("", "one")) == "--- old\n+++ new\n@@ -1,0 +1 @@\n+one\n"
    assert unified(TextDiff()) == ""


def test_side_by_side() -> None:
    old, new = "Shop\nred 価格\nOnly this week", "Shop\nred 価格 and a long price\nFooter"
    assert side_by_side(diff_texts(old, new), 27) == (
        "@@ -1,3 +1,3 @@\n"
        "Shop           Shop\n"
        "red 価格     | red 価格 and\n"
        "             |  a long pric\n"
        "             | e\n"
        "Only this we <\n"
        "ek           <\n"
        "             > Footer\n"
    )


def test_a_summary_shortens_a_line_that_is_a_book() -> None:
    summary = bounded(diff_texts("word " * 100_000, "other " * 100_000))
    assert summary.is_truncated
    assert len(msgspec.json.encode(summary)) < 2_000


def test_a_summary_ends_where_something_did_not_fit() -> None:
    rest = [f"line {n}" for n in range(20)]
    new = ["first", *rest[:10], "wide " * 90, *rest[10:], "last"]
    diff = diff_texts("\n".join(rest), "\n".join(new), limits=DiffLimits(context=0))
    summary = bounded(diff, most_bytes=900)
    assert [each.lines for each in operations(summary)] == [["first"]]
    assert summary.is_truncated


def _strewn(kinds: int, length: int) -> tuple[list[str], list[str]]:
    chance = random.Random(7)
    old = [f"l{chance.randrange(kinds)}" for _ in range(length)]
    new = [f"n{n}" if chance.random() < 0.02 else line for n, line in enumerate(old)]
    return old, [line for line in new if chance.random() > 0.01]


@pytest.mark.parametrize("separator", ["\n", " "])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(*_strewn(1, 20_000), id="one line again and again, changes strewn in"),
        pytest.param(*_strewn(3, 20_000), id="three lines again and again"),
        pytest.param(_strewn(3, 20_000)[0], _strewn(4, 20_000)[1], id="nothing in common in order"),
        pytest.param(*_strewn(1 << 30, 20_000), id="no line twice"),
        pytest.param(
            [str(n) for n in range(20_000)], [str(n) for n in range(20_000)][::-1], id="reversed"
        ),
        pytest.param(["a"] * 20_000, ["a", "b"] * 10_000, id="every second line"),
    ],
)
def test_work_ends_with_the_steps(old: list[str], new: list[str], separator: str) -> None:
    one, other = separator.join(old), separator.join(new)
    limits = DiffLimits(steps=20_000)
    diff = diff_texts(one, other, limits=limits)
    assert diff.is_coarse
    assert diff.steps <= 20_000
    assert applied(diff, lines_of(one)) == [line for _, line in lines_of(other)]
    assert diff == diff_texts(one, other, limits=limits)


def test_lines_that_were_replaced_where_they_are_need_no_shortest_path() -> None:
    old = ["abcd"] * 50_000
    new = [f"new {n}" if n % 100 == 50 else line for n, line in enumerate(old)]
    diff = diff_texts("\n".join(old), "\n".join(new))
    assert not diff.is_coarse
    assert {each.op for each in operations(diff)} == {"replace"}
    assert diff.lines_added == 500
