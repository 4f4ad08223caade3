"""The contract of Watches: lists that are searched, filtered and sorted."""

from __future__ import annotations

import pytest

from contracts.adapters import Processes, Watching
from contracts.search_examples import ACCENTED, EXAMPLES, OF_ACCENTED, TEXT, results
from contracts.watch_samples import HOUR, MAY, check, config, end, event, started
from webloom.domain.listing import Count, ListedState, ListFilter, Order, SortField
from webloom.domain.tags import TagCount
from webloom.domain.watch import WatchConfig

ALL = ListFilter()


async def ids(
    store: Watching, chosen: ListFilter = ALL, order: str = "name", limit: int = 100
) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    by = Order(SortField(order.removeprefix("-")), order.startswith("-"))
    while True:
        page, cursor = await store.watches.watches(chosen, limit=limit, cursor=cursor, order=by)
        assert len(page) <= limit
        found += [watch.watch_id for watch in page]
        if cursor is None:
            return found


async def add(store: Watching, *configs: WatchConfig) -> None:
    for each in configs:
        await store.watches.add_watch(each.name, each, next_run_at=None)


async def test_the_beginnings_of_words_find_a_watch_by_its_name_tags_and_urls(
    watching: Watching,
) -> None:
    await add(
        watching,
        config("nothing", pages=""),
        config(TEXT, pages=""),
        config("by URL", urls=["https://a.example/x", f"https://b.example/{TEXT}"]),
        config("by tag", tags=["other", TEXT]),
        config("an accent", tags=[ACCENTED]),
    )

    async def is_found(query: str) -> bool:
        found = await ids(watching, ListFilter(text=query))
        assert await watching.watches.count_chosen(ListFilter(text=query), most=9) == Count(
            len(found)
        )
        if found:
            assert {TEXT, "by URL", "by tag"} <= {*found}
        return bool(found)

    assert await results(EXAMPLES, is_found) == EXAMPLES

    async def is_accent_found(query: str) -> bool:
        return await ids(watching, ListFilter(text=query)) == ["an accent"]

    assert await results(OF_ACCENTED, is_accent_found) == OF_ACCENTED


async def test_words_of_two_texts_do_not_stand_in_a_row(watching: Watching) -> None:
    await add(watching, config("one", tags=["two"], urls=["https://a.example/"]))
    assert await ids(watching, ListFilter(text='"one two"')) == []
    assert await ids(watching, ListFilter(text="one two")) == ["one"]


async def test_an_edit_changes_what_a_watch_is_found_by(watching: Watching) -> None:
    await add(watching, config("old", tags=["Red"]))
    await watching.watches.edit_watch("old", config("new", tags=["Blue"]), next_run_at=None)
    for text, tag in (("old", None), ("red", None), (None, "red")):
        assert await ids(watching, ListFilter(text=text, tag=tag)) == []
    for text, tag in (("new", None), ("blue", None), (None, "blue")):
        assert await ids(watching, ListFilter(text=text, tag=tag)) == ["old"]


async def test_a_tag_is_found_whatever_its_case_and_never_by_a_part(watching: Watching) -> None:
    await add(
        watching,
        config("a", tags=["Été", "on sale"]),
        config("b", tags=["ÉTÉ 2026"]),
        config("c", tags=["été"]),
        config("d"),
    )
    assert await ids(watching, ListFilter(tag="éTÉ")) == ["a", "c"]
    assert await ids(watching, ListFilter(tag="sale")) == []
    assert await ids(watching, ListFilter(tag="")) == []
    found = await watching.watches.find_watch("a")
    assert found is not None
    assert found.config.tags == ["Été", "on sale"]
    assert await watching.watches.tags() == [
        TagCount(tag="on sale", count=1),
        TagCount(tag="Été", count=2),
        TagCount(tag="ÉTÉ 2026", count=1),
    ]


async def test_a_state_is_a_filter(watching: Watching) -> None:
    await add(watching, *(config(name, pages="a") for name in ("id of a", "id of b", "id of c")))
    await add(watching, config("paused", enabled=False))
    await watching.pages.store_event(event("a", watch_id="external", run_id="x"))
    failing = await started(watching, "a")
    await check(watching, failing, "a", "it is away")
    await end(watching, failing)
    await started(watching, "b")
    expected = {
        ListedState.ENABLED: ["id of a", "id of b", "id of c"],
        ListedState.PAUSED: ["paused"],
        ListedState.FAILING: ["id of a"],
        ListedState.CHECKING: ["id of b"],
    }
    for state, names in expected.items():
        assert await ids(watching, ListFilter(state=state)) == names
        assert await watching.watches.count_chosen(ListFilter(state=state), most=9) == Count(
            len(names)
        )
    chosen = ListFilter(text="id", state=ListedState.ENABLED)
    assert await ids(watching, chosen, "-name", limit=1) == ["id of c", "id of b", "id of a"]
    assert await watching.watches.count_chosen(ListFilter(), most=3) == Count(3, is_exact=False)


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_a_list_is_sorted_both_ways_and_what_has_no_value_comes_last(
    watchings: Processes[Watching], limit: int
) -> None:
    async with watchings.open() as store:
        made = []
        for name, due in (("b", 2), ("d", None), ("a", 1), ("c", 2), ("e", None)):
            next_run_at = None if due is None else MAY + due * HOUR
            made.append(name)
            await store.watches.add_watch(f"id of {name}", config(name), next_run_at=next_run_at)
            await watchings.pass_time(1)
        for name in ("c", "a"):
            run = await started(store, name)
            await check(store, run, "a", "it is away")
            await end(store, run, next_run_at=MAY + (2 if name == "c" else 1) * HOUR)
            await watchings.pass_time(1)
        for order, names in {
            "name": "abcde",
            "nextRunAt": "abcde",
            "-nextRunAt": "cbaed",
            "lastRunAt": "cabde",
            "-lastRunAt": "acedb",
            "createdAt": "bdace",
            "failures": "bdeac",
        }.items():
            found = await ids(store, order=order, limit=limit)
            assert "".join(each[-1] for each in found) == names, order
        for order in ("name", "createdAt", "failures"):
            forwards = await ids(store, order=order, limit=limit)
            assert await ids(store, order=f"-{order}", limit=limit) == forwards[::-1]


async def test_a_removed_watch_is_neither_found_nor_counted(watching: Watching) -> None:
    await add(watching, config("gone", tags=["x"]), config("left", tags=["x"]))
    await watching.watches.remove_watch("gone")
    assert await ids(watching, ListFilter(tag="x")) == ["left"]
    assert await watching.watches.tags() == [TagCount(tag="x", count=1)]
    assert await ids(watching, ListFilter(text="gone")) == []
